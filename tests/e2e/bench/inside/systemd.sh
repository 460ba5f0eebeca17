# What node.sh does where systemd is to have the cgroups: process 1 becomes systemd, with units for
# the node's daemons, the bus, and nothing of what else starts on a machine.
units=/etc/systemd/system
early='[Unit]
DefaultDependencies=no'
for name in beat commands forward containerd kubelet; do
    cat >"$units/$name.service" <<END
$early
[Service]
ExecStart=/bin/sh $SHARE/start $name
Restart=always
END
done
# As Debian's containerd.service.
cat >>"$units/containerd.service" <<END
Delegate=yes
KillMode=process
OOMScoreAdjust=-999
END
for name in dbus.service dbus.socket; do
    mkdir -p "$units/$name.d"
    echo "$early" >"$units/$name.d/early.conf"
done
cat >"$units/node.target" <<END
$early
Wants=dbus.socket dbus.service beat.service commands.service forward.service
Wants=containerd.service kubelet.service
END
exec /lib/systemd/systemd --unit=node.target
