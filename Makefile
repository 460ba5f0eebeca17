# Every target sets up what it needs by itself. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-vm-all e2e check lint types format bench image fixtures monitoring chart docs proto lock clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements-dev.txt pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" tools/venv.sh $(VENV)
	@touch $@

demo: $(READY) ## Run the whole loop on a recorded 8-GPU machine: no root, no cluster, no GPU
	@$(BIN)/python -m numa_agent demo

test: $(READY) ## Run every test, those on a real kernel and a real API server included
	@tools/debian.sh "the tests boot machines, start containers, scrape metrics, build the image" \
	  qemu-system-x86_64=qemu-system-x86 busybox=busybox-static depmod=kmod cpio=cpio zstd=zstd \
	  openssl=openssl setpriv=util-linux crun=crun runc=runc faketime=faketime gcc=gcc \
	  promtool=prometheus prometheus=prometheus buildah=buildah mmdebstrap=mmdebstrap \
	  containerd=containerd /usr/lib/cni/ptp=containernetworking-plugins
	@tools/test.sh $(BIN)/pytest

test-vm-all: $(READY) ## Run the tests on real kernels with every kernel that Debian has: 5.10, 6.1, 6.12
	@tools/debian.sh "the tests boot a NUMA machine in QEMU" \
	  qemu-system-x86_64=qemu-system-x86 busybox=busybox-static depmod=kmod cpio=cpio zstd=zstd \
	  setpriv=util-linux crun=crun runc=runc
	$(BIN)/pytest -m vm --all-kernels

e2e: $(READY) ## Run the scenarios on a whole cluster with a real node: docs/e2e.md
	@tools/debian.sh "the scenarios boot a node, build the image, scrape metrics" \
	  qemu-system-x86_64=qemu-system-x86 busybox=busybox-static depmod=kmod cpio=cpio zstd=zstd \
	  openssl=openssl setpriv=util-linux containerd=containerd runc=runc crun=crun gcc=gcc \
	  /usr/lib/cni/ptp=containernetworking-plugins prometheus=prometheus \
	  buildah=buildah mmdebstrap=mmdebstrap /lib/systemd/systemd=systemd \
	  /usr/bin/dbus-daemon=dbus-daemon
	$(BIN)/pytest tests/e2e

lint: $(READY) ## Check style and import rules
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports

types: $(READY) ## Check types
	$(BIN)/mypy

check: lint types test ## Everything that must be green before a change is done

format: $(READY) ## Format the code
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY) ## Compare discovery with lstopo and lscpu, time big maps, weigh podresources clients
	@tools/debian.sh "the benchmark compares with lstopo and lscpu" \
	  lstopo-no-graphics=hwloc-nox lscpu=util-linux xz=xz-utils
	$(BIN)/python -m benchmarks.discovery
	$(BIN)/python -m benchmarks.devices
	$(BIN)/python -m benchmarks.podresources
	$(BIN)/python -m benchmarks.binding
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.assigner
	$(BIN)/python -m benchmarks.packing
	$(BIN)/python -m benchmarks.deviceplugin
	$(BIN)/python -m benchmarks.daemon --idle 120

image: $(READY) ## Build the container image, without a registry too (ARCH=arm64, BASE=IMAGE)
	@tools/debian.sh "the image is built with them" buildah=buildah mmdebstrap=mmdebstrap
	@ARCH="$(ARCH)" BASE="$(BASE)" SUITE="$(SUITE)" PYTHON="$(BIN)/python" tools/image/make.sh

fixtures: $(READY) ## Write the generated machines of fixtures/sysfs/ anew
	$(BIN)/python -m tools.machines
	$(BIN)/python -m tools.expected

monitoring: $(READY) ## Write the alert rules and the dashboard anew; then make chart
	$(BIN)/python -m tools.monitoring

chart: $(READY) ## Write the Helm chart anew from manifests/
	$(BIN)/python -m tools.chart

docs: $(READY) ## Write what docs/ says of settings anew, from the code
	$(BIN)/python -m tools.config_docs
	$(BIN)/python -m tools.doctor_docs

proto: $(READY) ## Generate the code of kubelet's podresources and device plugin APIs anew
	$(BIN)/python -m grpc_tools.protoc --proto_path=. --python_out=. --pyi_out=. \
	  numa_agent/host/podresources/api.proto numa_agent/host/deviceplugin/api.proto

lock: $(READY) ## Resolve the development requirements anew, with hashes
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-emit-find-links --extra dev -o requirements-dev.txt pyproject.toml
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-emit-find-links -c requirements-dev.txt -o requirements.txt pyproject.toml
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-emit-find-links -c requirements-dev.txt \
	  -o tools/image/requirements-build.txt tools/image/requirements-build.in

clean: ## Remove what the targets made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
