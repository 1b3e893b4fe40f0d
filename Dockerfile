# Septet as an image of one layer: the command, the HTTP server and MCP, on Alpine, from the wheel for musl.
#
#   docker build --tag septet .          # the wheel of dist/ (`make wheels`) if there is one, else that of PyPI
#   docker run --volume septet:/data --publish 127.0.0.1:7077:7077 --env SEPTET_TOKEN=... septet
#   docker run --interactive --rm --volume septet:/data septet mcp
#
# `tests/image.sh` builds it, measures it (120 MB at most) and asks it.
ARG PYTHON=3.13

FROM python:${PYTHON}-alpine AS built
ARG VERSION
RUN --mount=type=bind,target=/checkout \
    found=$(ls -d /checkout/dist 2> /dev/null || true) && \
    pip install --no-cache-dir --no-compile --only-binary :all: ${found:+--find-links "$found"} \
      "septet[cli,mcp,server]${VERSION:+==$VERSION}"
# A user of its own, and a folder for vaults that is theirs.
RUN adduser -D -h /data -u 10001 septet
# It installs, compiles, draws and tests nothing: without pip, headers, tkinter, symbols, stubs, tests, zones of time
# (it speaks UTC), and the lexers that rich would colour other languages with.
RUN apk add --no-cache --virtual .strip binutils && \
    python=$(python -c "import sysconfig; print(sysconfig.get_path('stdlib'))") && packages="$python/site-packages" && \
    rm -rf "$packages"/pip "$packages"/pip-* "$packages"/pycparser* "$python"/ensurepip "$python"/idlelib \
      "$python"/tkinter "$python"/turtledemo "$python"/config-* /usr/local/include /usr/local/lib/pkgconfig \
      /usr/local/share/man /usr/local/bin/pip* /usr/local/bin/idle* /usr/local/bin/python*-config \
      "$packages"/numpy/f2py "$packages"/numpy/_core/include "$packages"/numpy/_core/lib && \
    find "$python" \( -name tests -o -name __pycache__ \) -type d -prune -exec rm -rf {} + && \
    find "$packages" \( -name '*.pyi' -o -name '*.a' -o -name '_simd.*.so' -o -name '*_tests.*.so' \) -delete && \
    find "$python/lib-dynload" \( -name '_test*' -o -name '_ctypes_test*' -o -name 'xx*' \) -delete && \
    find "$packages/pygments/lexers" -name '*.py' ! -name '__init__.py' ! -name '_mapping.py' ! -name python.py \
      ! -name special.py -delete && \
    find /usr/local/lib -name '*.so*' -type f -exec strip --strip-unneeded {} + && \
    apk del .strip tzdata && rm -rf ~/.cache /tmp/* && \
    septet --version && python -B -c "import septet.server.app, septet.mcp.stdio, numpy.random, numpy.fft"

# What was removed above would stay in the layers below it.
FROM scratch
COPY --from=built / /
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/data SEPTET_VAULT=/data/vault.db PYTHONDONTWRITEBYTECODE=1
USER septet
WORKDIR /data
VOLUME /data
EXPOSE 7077
HEALTHCHECK --start-period=20s CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:7077/readyz"]
ENTRYPOINT ["septet"]
CMD ["serve", "--host", "0.0.0.0"]
