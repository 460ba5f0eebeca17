#!/bin/sh
# Build the image for `make image`. From the environment:
#   ARCH     amd64 or arm64; default: this machine's
#   BASE     an image with Python, from a registry; default: Python from Debian's packages
#   SUITE    Debian's release where BASE isn't given; default: trixie
#   TAG      default: localhost/numa-agent:VERSION
#   OUT      the folder for the image's archive; default: .cache/image
#   CACHE    the folder for packages fetched; default: .cache/image
#   PYTHON   one with pip; default: .venv/bin/python
#   BUILDAH  buildah and its global options, such as "buildah --root DIR --runroot DIR"
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' numa_agent/__init__.py)
python=${PYTHON:-.venv/bin/python}
buildah=${BUILDAH:-buildah}
suite=${SUITE:-trixie}
out=${OUT:-.cache/image}
cache=${CACHE:-.cache/image}
tag=${TAG:-localhost/numa-agent:$version}
case $(uname -m) in
    x86_64) own=amd64 ;;
    aarch64) own=arm64 ;;
    *) echo "images are made on x86_64 and aarch64, this is $(uname -m)" >&2; exit 2 ;;
esac
arch=${ARCH:-$own}
# The commit's time: one commit gives one image.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Works for root in a container too, where runc can't make namespaces.
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"
mkdir -p "$out" "$cache"
# Two builds may be on at once: what they share is fetched by one of them.
exec 9>"$cache/lock"
flock 9

base_of() {  # base_of ARCH: make the base image from Debian's packages, once a day
    tar=$cache/base-$suite-$1.tar
    if [ -z "$(find "$tar" -mmin -1440 2>/dev/null)" ]; then
        tools/image/base.sh "$tar" "$1" "$suite"
    elif $buildah inspect --type image "localhost/numa-agent-base:$suite-$1" >/dev/null 2>&1; then
        return
    fi
    container=$($buildah from --arch "$1" scratch)
    $buildah add --quiet "$container" "$tar" / >/dev/null
    $buildah config --env PATH=/usr/local/bin:/usr/bin:/bin "$container"
    $buildah commit --quiet --rm --timestamp 0 "$container" "localhost/numa-agent-base:$suite-$1"
}

set -- --build-arg TARGETARCH="$arch" --build-arg BUILDPLATFORM="linux/$own"
if [ -n "${BASE:-}" ]; then
    set -- "$@" --build-arg BASE="$BASE"
else
    base_of "$arch" >/dev/null
    [ "$arch" = "$own" ] || base_of "$own" >/dev/null
    minor=$(tar --list --file "$tar" | sed -n 's|^\./usr/bin/python\(3\.[0-9]*\)$|\1|p')
    wheels=$(realpath "$cache")/wheels-$arch-$minor
    wanted=$(cat requirements.txt tools/image/requirements-build.txt | cksum)
    if [ "$(cat "$wheels/.complete" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "$wheels"
        "$python" -m tools.image.wheels "$wheels" "$arch" "$own" "$minor"
        echo "$wanted" > "$wheels/.complete"
    fi
    set -- "$@" --pull=never --build-arg BASE="localhost/numa-agent-base:$suite-$arch" \
        --build-arg BUILDER="localhost/numa-agent-base:$suite-$own" \
        --volume "$wheels:/wheels:ro" \
        --build-arg PIP_NO_INDEX=1 --build-arg PIP_FIND_LINKS=/wheels
fi
flock -u 9
$buildah build --quiet --file Containerfile --platform "linux/$arch" --timestamp "$SOURCE_DATE_EPOCH" \
    --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" --build-arg VERSION="$version" \
    --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || true)" --tag "$tag" "$@" . >&2
archive=$out/numa-agent-$version-$arch.tar
rm -f "$archive"
$buildah push --quiet "$tag" "oci-archive:$archive:$tag"
"$python" -m tools.image.archive "$archive"
