# Installs the server binaries of $1 (postgresql, redis or pgbouncer) on Debian and Ubuntu, as root, and leaves nothing running and
# nothing enabled. $2 is put before every path of the system (empty but in tests).
#   redis       redis-tools: its redis-check-rdb is the server's executable, and it ships no service
#   postgresql  the newest postgresql-NN, without the cluster that its set-up makes by default
#   pgbouncer   the package of that name
# Standard output: one line "installed NAME VERSION" for each new package, "disabled UNIT" for each unit turned off.
set -u
what=$1
root=$2
policy=$root/usr/sbin/policy-rc.d
saved=$policy.before-mappy
conf=$root/etc/postgresql-common/createcluster.d/mappy-localstack.conf
mark='mappy localstack: temporary'
new=
oldest_postgresql=15

exec 9>"$root/run/mappy-localstack-install.lock"
flock -w 600 9 || { echo 'another installation takes too long' >&2; exit 1; }

# Undoes the two temporary files, of this run or of one that was killed. A policy that is not ours is never touched.
restore() {
  if grep -qF "$mark" "$policy" 2>/dev/null; then rm -f "$policy"; fi
  if [ -e "$saved" ] || [ -L "$saved" ]; then
    if [ -e "$policy" ] || [ -L "$policy" ]; then rm -f "$saved"; else mv "$saved" "$policy"; fi
  fi
  rm -f "$conf" "$policy.mappy-new"
  rmdir "${conf%/*}" "$root/etc/postgresql-common" 2>/dev/null
  if [ -n "$new" ]; then rm -rf "$new"; fi
}
restore
trap restore EXIT
trap 'exit 130' HUP INT TERM

# What would start at boot, in systemd's and in sysvinit's folders.
enabled() {
  find "$root"/etc/systemd/system "$root"/etc/rc[0-6S].d \( -type l -o -type f \) 2>/dev/null |
    grep -E '/(S[0-9]+)?(postgresql|redis|valkey|pgbouncer)[^/]*$' | sort
}
packages() { dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 2>/dev/null | sed -n 's/^ii  *//p' | sort; }

new=$(mktemp -d) || exit 1
enabled >"$new/enabled"
packages >"$new/packages"

# Forbids every start of a service while packages are set up.
printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy.mappy-new" && chmod 755 "$policy.mappy-new" || exit 1
if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$saved" || exit 1; fi
mv "$policy.mappy-new" "$policy" || exit 1
if [ "$what" = postgresql ]; then
  mkdir -p "${conf%/*}" && echo 'create_main_cluster = false' >"$conf" || exit 1
fi

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C
apt() {
  timeout --foreground -s INT 600 apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
    -o Dpkg::Options::=--force-confdef "$@" >&2 </dev/null 9>&-
}
pick() {
  if [ "$what" = redis ]; then
    apt-cache show --no-all-versions redis-tools >/dev/null 2>&1 && echo redis-tools
  elif [ "$what" = pgbouncer ]; then
    apt-cache show --no-all-versions pgbouncer >/dev/null 2>&1 && echo pgbouncer
  else
    n=$(apt-cache search --names-only '^postgresql-[0-9]+$' 2>/dev/null |
      sed -n 's/^postgresql-\([0-9][0-9]*\) .*/\1/p' | sort -n | tail -n 1)
    [ -n "$n" ] && [ "$n" -ge $oldest_postgresql ] && echo "postgresql-$n"
  fi
}

updated=
package=$(pick)
if [ -z "$package" ]; then
  apt update
  updated=1
  package=$(pick)
fi
if [ -z "$package" ]; then
  echo "apt knows no package for $what" >&2
  exit 1
fi
# A package that is there is never touched: installing it again would upgrade it, and with it what runs from it.
case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
ii*)
  echo "$package is installed, but no server was found in it" >&2
  exit 1
  ;;
esac
if ! apt install --no-install-recommends "$package"; then
  # An old list names files that are gone from the archive.
  [ -n "$updated" ] && exit 1
  apt update
  package=$(pick)
  apt install --no-install-recommends "$package" || exit 1
fi

enabled >"$new/enabled-now"
comm -13 "$new/enabled" "$new/enabled-now" | sed 's|.*/||; s|^S[0-9][0-9]*||; s|\.service$||' | sort -u >"$new/units"
while read -r unit; do
  if command -v systemctl >/dev/null; then systemctl disable "$unit.service" >&2 9>&-; fi
  if [ -e "$root/etc/init.d/$unit" ] && command -v update-rc.d >/dev/null; then update-rc.d "$unit" disable >&2 9>&-; fi
  echo "disabled $unit"
done <"$new/units"
packages >"$new/packages-now"
comm -13 "$new/packages" "$new/packages-now" | sed 's/^/installed /'
