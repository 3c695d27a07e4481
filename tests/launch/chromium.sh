# shellcheck shell=bash disable=SC2154
# tests/launch/chromium.sh: draws pages in headless Chromium, and runs checks in them. Sourced after
# tests/end_to_end/helpers.sh; `folder` is the caller's temporary folder.

# Ends with status 77, which ctest reports as skipped (tests/check_layers.cmake lists the tests), without Chromium.
require_chromium() {
  browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "skipped: there is no Chromium (apt-get install chromium)"; exit 77; }
}
render() {  # render WIDTH OPTION...
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 --window-size="$1,4500" \
    --user-data-dir="$folder/profile" "${@:2}" 2>messages
}
# Appends a script to a page, with a list of the errors that the page's own scripts report. The script sets the title to
# `passed`, or to what failed.
with_checks() {  # with_checks SCRIPT <PAGE
  sed -e '/<head>/a <script>const errors = []; addEventListener("error", (event) => errors.push(event.message));</script>' \
    -e '/<\/body>/,$d'
  echo '<script>'
  cat "$1"
  echo '</script></body></html>'
}
passes() {  # passes PAGE WIDTH OPTION...: a page with checks
  render "$2" "${@:3}" --dump-dom "file://$folder/$1" >dom
  sed -n '/<title>passed</d; s/^<title>\(.*\)<\/title>/\1/p' dom >err
  grep -q '^<title>passed</title>' dom
}
screenshots() {  # screenshots PAGE NAME FOLDER OPTION...: in light and dark, on a screen and on a phone
  local scheme width
  for scheme in 0 1; do  # dark, light
    for width in 390 1280; do
      render "$width" --blink-settings=preferredColorScheme=$scheme --screenshot="$3/$2-$width-$scheme.png" "${@:4}" "file://$folder/$1"
    done
  done
}
