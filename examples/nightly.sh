page=$(triage state get page --default 1) || exit
while [ "$page" -le 3 ]; do
  triage effect "mail:$page" -- echo "mail $page sent"   # runs once; later calls print what it printed
  [ "$page" = 1 ] && mkdir failed 2>/dev/null && { echo "HTTP 503 Service Unavailable" >&2; exit 1; }
  [ "$page" = 2 ] && mkdir killed 2>/dev/null && triage state get >killed/at && kill -9 $PPID
  page=$((page + 1)); triage state set "page=$page"
done
