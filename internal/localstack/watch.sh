# Waits until standard input ends, then stops what the folder $1 names and removes it.
# $2 is "watch" (the owner ended this moment) or "sweep" (it ended long ago: process groups are not to be trusted).
dir=$1
while read -r _; do :; done
[ -d "$dir" ] || exit 0

# A process is one of ours only if its command line names the folder: numbers are used again.
mine() {
  if [ -r "/proc/$1/cmdline" ]; then tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null
  elif [ ! -d /proc/self ]; then ps -p "$1" -o args= 2>/dev/null
  fi | grep -qF -- "$dir"
}

if [ "$2" = watch ]; then
  for f in "$dir"/*.group; do
    [ -f "$f" ] && read -r group <"$f" && kill -s TERM -- "-$group" 2>/dev/null
  done
fi
for f in "$dir"/*.pid; do
  [ -f "$f" ] && read -r sig pid <"$f" && mine "$pid" && kill -s "$sig" "$pid" 2>/dev/null
done
n=0
while [ $n -lt 100 ]; do
  busy=
  for f in "$dir"/*.pid; do
    [ -f "$f" ] && read -r sig pid <"$f" && mine "$pid" && busy=1
  done
  [ -z "$busy" ] && break
  sleep 0.1
  n=$((n + 1))
done
for f in "$dir"/*.pid; do
  [ -f "$f" ] && read -r sig pid <"$f" && mine "$pid" && kill -s KILL "$pid" 2>/dev/null
done
if [ "$2" = watch ]; then
  for f in "$dir"/*.group; do
    [ -f "$f" ] && read -r group <"$f" && kill -s KILL -- "-$group" 2>/dev/null
  done
fi
for f in "$dir"/*.container; do
  [ -f "$f" ] && read -r id <"$f" && docker rm -f -v "$id" >/dev/null 2>&1
done
rm -rf -- "$dir"
