#!/bin/sh
# The image of the Dockerfile as its users get it: built, measured, asked over HTTP and over MCP. Needs docker and curl.
set -eu

cd "$(dirname "$0")/.."
most=120000000
image=septet:test
name=septet-test-$$
token=a-token-of-the-test-0123456789
trap 'docker rm --force "$name" > /dev/null 2>&1 || true; docker volume rm "$name" > /dev/null 2>&1 || true' EXIT

docker build --quiet --tag "$image" .
# The bytes of its files; what docker itself says is of packed layers or not, as its store is.
size=$(docker run --rm --user 0 --entrypoint sh "$image" -c \
  'find / -xdev -type f -exec stat -c %s {} + | awk "{ sum += \$1 } END { printf \"%d\", sum }"')
echo "$size bytes"
[ "$size" -le "$most" ] || { echo "the image has more than $most bytes"; exit 1; }
[ "$(docker run --rm --entrypoint id "$image" -u)" != 0 ] || { echo "the image runs as root"; exit 1; }

docker run --detach --name "$name" --read-only --volume "$name:/data" --env SEPTET_TOKEN="$token" \
  --publish 127.0.0.1::7077 "$image" > /dev/null
url=http://$(docker port "$name" 7077/tcp | head -1)
for _ in 1 2 3 4 5 6 7 8 9 10; do
  curl --silent --fail "$url/readyz" > /dev/null && break
  sleep 1
done
ask() { curl --silent --fail --header "Authorization: Bearer $token" --header 'Content-Type: application/json' "$@"; }
ask --data '{"id": "ttl", "title": "Session cookies"}' "$url/v1/entries" > /dev/null
ask --data '{"query": "cookies"}' "$url/v1/search" | grep -q '"ttl"'
! curl --silent --fail --data '{"query": "cookies"}' "$url/v1/search" > /dev/null
docker stop "$name" > /dev/null
[ "$(docker inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || { echo "it does not stop in order"; exit 1; }

# The vault is that of the volume, and an agent gets it by MCP.
printf '%s\n' \
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}' \
  '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"cookies"}}}' |
  docker run --interactive --rm --volume "$name:/data" "$image" mcp | grep -q '"ttl"'
docker run --rm --volume "$name:/data" "$image" count | grep -q 1
echo "the image answers"
