#!/bin/sh
# Unpack Debian's Python and pip into a tar file, for machines without a registry of images:
#   base.sh OUT.tar ARCH SUITE
# Nothing of it is run, so ARCH needs no emulation. The result is a base to copy from, not to run
# a system on: packages are unpacked and listed for dpkg, but not configured.
set -eu
out=$1
arch=$2
suite=$3
hook=$(mktemp)
trap 'rm -f "$hook"' EXIT
cat > "$hook" <<'HOOK'
#!/bin/sh
# dpkg's list of what is there, which unpacking alone doesn't write
set -eu
for deb in "$1"/var/cache/apt/archives/*.deb; do
    name=$(dpkg-deb --field "$deb" Package)
    { echo "Status: install ok installed"; dpkg-deb --field "$deb"; echo; } >> "$1/var/lib/dpkg/status"
    dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's|^\.||; s|/$||' > "$1/var/lib/dpkg/info/$name.list"
done
# what ca-certificates would do when configured: pip doesn't start without the file
cat "$1"/usr/share/ca-certificates/mozilla/*.crt > "$1/etc/ssl/certs/ca-certificates.crt"
HOOK
chmod +x "$hook"
mmdebstrap --quiet --format=tar --variant=extract --architectures="$arch" --include=base-files,libstdc++6,python3-pip \
    --extract-hook="$hook" "$suite" "$out.part"
mv "$out.part" "$out"
