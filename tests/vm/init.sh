#!/bin/sh
# The first process of a guest (busybox). It makes the host's root this machine's root: read-only
# over 9p, with a tmpfs overlay on top, fresh kernel file systems and a fresh /tmp and /run.
# What differs from run to run, `setup` and `start`, comes through the share; guest.py writes it.
# An error ends this process, and so panics and ends the machine: guest.py sees a failed boot.
set -e

while read -r module; do
    insmod "/modules/$module"
done </modules/order

mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host
mount -t tmpfs tmpfs /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/files,workdir=/upper/work root /new

mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t devtmpfs devtmpfs /new/dev
mkdir -p /new/dev/pts /new/dev/shm
# TOMOYO of Debian's 5.10 looks here for the copy of itself that a container runtime executes.
ln -s /proc/self/fd /new/dev/fd
mount -t devpts devpts /new/dev/pts
mount -t tmpfs tmpfs /new/dev/shm
mount -t tmpfs tmpfs /new/tmp
mount -t tmpfs tmpfs /new/run

mkdir /new/run/share
mount -t 9p -o rw,trans=virtio,version=9p2000.L,msize=512000 share /new/run/share
. /new/run/share/setup
exec switch_root /new /bin/sh /run/share/start
