#!/usr/bin/env bash
# The documentation contains every command and flag, its examples are valid, its links point to pages and headings, and
# docs/reference/keys contains every type and key.
. "${DPTRAIN_SOURCE:?}/tests/e2e/lib.bash"
docs=$DPTRAIN_SOURCE/docs

say "commands and flags: docs/reference/command-line.md"
run 0 --help
sed -n '/^Examples/q; s/^  \([a-z]\+\) .*/\1/p' out >commands
has_rows commands 13 || fail "dptrain --help lists $(rows commands) commands"
while read -r command; do
  grep -q "\`${command}[ \`]" "$docs/reference/command-line.md" || fail "command-line.md does not name the command $command"
  run 0 "$command" --help
  grep -o '^  \(-[a-z], \)\?--[a-z0-9-]\+' out | grep -o -- '--[a-z0-9-]\+' >flags || true
  while read -r flag; do
    grep -q -- "${flag}[\` =[]" "$docs/reference/command-line.md" || fail "command-line.md does not name $flag of $command"
  done <flags
done <commands

say "examples are configs without a mistake"
python3 "$DPTRAIN_SOURCE/tests/e2e/check_docs.py" --examples "$DPTRAIN_SOURCE" >out || fail "there are no examples"
for example in example-*.yaml; do run 0 check "$example" --data synthetic; done

say "links point to pages and their headings, README.md to every page, and a page to every type"
python3 "$DPTRAIN_SOURCE/tests/e2e/check_docs.py" --links "$DPTRAIN_SOURCE" >out || fail "a link is wrong"

say "docs/reference/keys is current"
run 0 config --reference keys
diff -r "$docs/reference/keys" keys >out || fail "write the pages again: dptrain config --reference docs/reference/keys"
