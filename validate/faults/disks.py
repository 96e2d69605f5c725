"""A full disk and a directory without write permission, as scripts for root on a host."""

from __future__ import annotations

# Kafka gives its only directory up and ends; what it says goes to its own log.
LOG = """\
logs=$(systemctl show "$unit" -p Environment --value | tr ' ' '\\n' | sed -n 's/^LOG_DIR=//p')
before=$(cat "$logs"/server.log 2>/dev/null | wc -l || echo 0)
said() { tail -n +"$((before + 1))" "$logs"/server.log 2>/dev/null; }
words() { said | grep -m1 -E 'offline|log dirs .* have failed|Error while' | cut -c1-160; }
gave_up() { gone || words | grep -q -E 'have failed|offline'; }
"""

# On a disk of its own only: a full root file system would take the host down, not Kafka.
FILL = """\
folder={folder}
ballast="$folder/kastellan-fault.fill"
[ "$(stat -c %d "$folder")" != "$(stat -c %d /)" ] || fail "$folder is on the root file system: not filling that"
room() { df --output=avail -B1 "$folder" | tail -1 | tr -d ' '; }
mark fill
size=0
while [ "$(room)" -ge 4096 ]; do
  step=$(room)
  until fallocate -o "$size" -l "$step" "$ballast" 2>/dev/null; do
    step=$((step / 2))
    [ "$step" -ge 4096 ] || break 2
  done
  size=$(stat -c %s "$ballast")
done
owner=$(stat -c %U "$folder")
if runuser -u "$owner" -- dd if=/dev/zero of="$folder/kastellan-fault.try" bs=64k count=4 conv=fsync 2>/dev/null; then
  rm -f "$folder/kastellan-fault.try"; fail "$owner can still write"
fi
rm -f "$folder/kastellan-fault.try"
wait_for 120 gave_up || fail "the disk is full ($(room) bytes free) and the broker has not noticed"
echo "disk full: $(room) bytes free; process $pid $(gone && echo 'has ended' || echo 'gave its directory up'): $(words)"
"""
FREE = """\
rm -f {folder}/kastellan-fault.fill {folder}/kastellan-fault.try
"""

FREEZE = """\
folder={folder}
mark freeze
find "$folder" -printf '%m %p\\0' > "$marks/freeze.modes"
chmod a-w -R "$folder"
wait_for 120 gave_up || fail "the directory is frozen and the broker has not noticed"
echo "no write permission; process $pid $(gone && echo 'has ended' || echo 'gave its directory up'): $(words)"
"""
# Without the list (a host that lost it) the owner's own permission is what Kafka needs.
THAW = """\
folder={folder}
if [ -s "$marks/freeze.modes" ]; then
  while IFS= read -r -d '' line; do
    [ ! -e "${line#* }" ] || chmod "${line%% *}" "${line#* }"
  done < "$marks/freeze.modes"
elif [ -e "$marks/freeze" ]; then
  chmod -R u+w "$folder"
fi
"""
