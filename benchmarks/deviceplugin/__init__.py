"""What a device plugin's gRPC server costs."""
