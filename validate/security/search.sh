# shellcheck shell=bash disable=SC2034,SC2154
# What a search on a host needs besides the words it looks for: keys that the host made for itself, its journal and logs,
# large files in pieces. traces.py puts bounds and places before it, the search itself behind; what is told goes to 3.
exec 3>&1
export LC_ALL=C
declare -A who

pid=$(systemctl show -p MainPID --value "$unit" 2> /dev/null)
conf=$(tr '\0' '\n' 2> /dev/null < "/proc/${pid:-0}/cmdline" | grep -E '[.](properties|cfg)$' | tail -n 1)
conf=$(dirname "${conf:-/nonexistent/x}")

# As traces.forms, by the shell's own means: no word of it is an argument of a process.
seek() {
  local name=$1 word=$2 before coded begin
  coded=$(printf %s "$word" | od -An -v -tx1 | tr -d ' \n')
  who[$word]=$name who[$coded]=$name who[${coded^^}]=$name
  coded=${word//\//%2F}
  coded=${coded//+/%2B}
  who[${coded//=/%3D}]=$name
  for before in 0 1 2; do
    coded=$({ head -c "$before" /dev/zero; printf %s "$word"; } | base64 -w 0)
    begin=$(((before * 8 + 5) / 6))
    who[${coded:begin:(before + ${#word}) * 8 / 6 - begin}]=$name
  done
}

# Keys that a host made for itself stay there: it looks for them itself, and tells no more than a fingerprint of one
# line. Of OpenSSH's own form the first lines are alike in all keys.
line_of='/^-----BEGIN .*PRIVATE KEY/ {at = NR + (/OPENSSH/ ? 4 : 1)} NR == at {print; exit}'
while IFS= read -r file; do
  line=$(awk "$line_of" "$file")
  [[ $line =~ ^[A-Za-z0-9+/=]{40,}$ ]] || continue
  seek "its own key $file" "$line"
  case $file in
    "$conf"/*) echo "$print$(printf %s "$line" | sha256sum | cut -d ' ' -f 1) $file" ;;
  esac
done < <(grep -rlsIe '^-----BEGIN .*PRIVATE KEY' -- "$conf" "$sshd")

journal() {
  journalctl --no-pager -q -o cat -n "$journal_most" | tr '\0' '\n' |
    awk -v most="$journal_most" '{print} END {exit NR >= most}' ||
    echo "${missed}the journal before its last $journal_most lines" >&3
}

logs_in() {
  find "$@" -type f ! -path '*/journal/*' ! -name '*.gz' -exec cat {} +
  find "$@" -type f -name '*.gz' -exec gzip -dc {} +
}

# Beside the usual place that of logs which the service holds open; what is named by twenty digits is data.
logs() {
  logs_in /var/log
  find "/proc/${pid:-0}/fd" -type l -printf '%l\n' | grep '[.]log$' | grep -Ev '^/var/log/|/[0-9]{20}[.]log$' |
    xargs -r -d '\n' -n 1 dirname | sort -u | while IFS= read -r folder; do logs_in "$folder" -maxdepth 1; done
}

# Each laps over into the next by more than any secret is long, and ends a line, so that no line is too long for grep.
in_pieces() {
  local left=$large_most_mib beyond=0 file size at
  while IFS= read -r -d '' file; do
    size=$(stat -c %s -- "$file") || continue
    size=$((size / 1048576 + 1))
    if ((size > left)); then
      ((beyond += 1))
      continue
    fi
    ((left -= size))
    for ((at = 0; at < size; at += piece_mib)); do
      dd if="$file" bs=1M skip="$at" count=$((piece_mib + 1)) status=none
      echo
    done
  done < <(find "${open[@]}" -xdev -type f -size "+$((large_mib - 1))M" -print0)
  ((beyond == 0)) || echo "$missed$beyond large files in ${open[*]}" >&3
}
