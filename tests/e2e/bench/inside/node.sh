# The first process of a guest that is a node; guest.py writes the variables before this. It is
# never left: when it ends, the kernel panics and the machine is gone. With an argument it is one
# of the node's daemons.
set -u
export HOME=/root LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
SHARE=/run/share

# The daemon of that name in this process's place.
become() {
    cd /
    case $1 in
    # Whoever waits for something looks whether this goes on: guest.py.
    beat)
        while read -r now _ </proc/uptime; do
            echo "$now" >"$SHARE/beat"
            sleep 1
        done
        ;;
    commands) exec "$PYTHON" "$SHARE/commands.py" "$SHARE/token" >"$SHARE/commands.log" 2>&1 ;;
    forward)
        exec "$PYTHON" "$SHARE/forward.py" "$SERVICE" 443 "$HOST" "$PORT" \
            >"$SHARE/forward.log" 2>&1
        ;;
    containerd) exec containerd -c "$SHARE/containerd.toml" >>"$SHARE/containerd.log" 2>&1 ;;
    kubelet)
        until ctr version >/dev/null 2>&1; do sleep 0.2; done
        for archive in "$SHARE"/*.tar; do
            [ ! -e "$archive" ] || ctr -n k8s.io images import "$archive" >>"$SHARE/import.log" 2>&1
            rm -f "$archive"
        done
        exec "$PROGRAMS/kubelet" --config /var/lib/kubelet/config.yaml \
            --kubeconfig "$SHARE/kubeconfig" --hostname-override "$NODE" --node-ip 10.0.2.15 \
            --cert-dir /var/lib/kubelet/pki -v 2 >>"$SHARE/kubelet.log" 2>&1
        ;;
    esac
}

if [ $# -gt 0 ]; then
    become "$1"
    exit 1
fi

$BUSYBOX date -s "@$NOW" >/dev/null
$BUSYBOX hostname "$NODE"
$BUSYBOX ip link set lo up
$BUSYBOX ip addr add "$SERVICE/32" dev lo
$BUSYBOX ip link set eth0 up
$BUSYBOX ip addr add 10.0.2.15/24 dev eth0
$BUSYBOX ip route add default via "$HOST"
echo 1 >/proc/sys/net/ipv4/ip_forward
# Under emulation a page that the kernel moves for balancing can hold up its CPU for a minute.
echo 0 >/proc/sys/kernel/numa_balancing
printf '127.0.0.1 localhost\n10.0.2.15 %s\n' "$NODE" >/etc/hosts
: >/etc/resolv.conf
echo "$NODE" >/etc/hostname
echo "$MACHINE_ID" >/etc/machine-id
mkdir -p /etc/cni/net.d /etc/kubernetes/manifests
cp "$SHARE/10-ptp.conflist" /etc/cni/net.d/
cp "$SHARE/config.yaml" /var/lib/kubelet/
: >"$SHARE/booted"

if [ "$DRIVER" = systemd ]; then
    . "$SHARE/systemd.sh"
fi
for name in beat commands forward containerd kubelet; do
    become "$name" &
    echo $! >"/run/$name.pid"
done
while :; do
    sleep 3600 &
    wait $!
done
