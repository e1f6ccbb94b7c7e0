#!/bin/sh
# Makes the root of a container's file system: the executable, and the few files of this Linux system that it needs.
# root.sh EXECUTABLE FOLDER
set -eu
program=$1
root=$2

mkdir -p "$root/etc" "$root/proc" "$root/dev" "$root/sys"
install -d -m 1777 "$root/tmp"
install -D -m 755 "$program" "$root/usr/local/bin/stockroom"

# The C library and its loader. All else is linked into the executable, the certificates of authorities included.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
  cp -L --parents "$library" "$root"
done

# Terms of the C library.
cp --parents /usr/share/doc/libc6/copyright "$root"

echo 'stockroom:x:65532:65532:Stockroom:/data:/nonexistent' > "$root/etc/passwd"
echo 'stockroom:x:65532:' > "$root/etc/group"
# Names are looked up in /etc/hosts first.
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
