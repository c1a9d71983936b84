# Sourced by the scripts that keep a page's generated blocks. They set $page and define `block NAME`, which prints a block.

# The page with its blocks made again: what stands between "<!-- NAME begins -->" and "<!-- NAME ends -->".
made_page() {
  local line name=
  while IFS= read -r line; do
    if [[ $line =~ ^'<!-- '([a-z0-9_]+)' begins -->'$ ]]; then
      name=${BASH_REMATCH[1]}
      printf '%s\n' "$line"
      block "$name"
    elif [[ $line =~ ^'<!-- '([a-z0-9_]+)' ends -->'$ ]]; then
      name=
    fi
    [ -n "$name" ] || printf '%s\n' "$line"
  done <"$page"
}

write_page() {
  made_page >"$page.new"
  mv "$page.new" "$page"
}

check_page() { made_page | diff - "$page"; }
