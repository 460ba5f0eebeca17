"""The Helm chart, made from the manifests that `kubectl apply -k` takes."""
