# The supervisor's image, for compose.yaml: `trustfloor serve` and `trustfloor engine-filter`. It holds
# no secret and no file of anyone's, and runs as nobody's user with a read-only root. Built by
# scripts/supervisor-image, which makes the build context; works with the classic builder.
ARG LIBRARIES=trustfloor/libraries:latest
FROM ${LIBRARIES}

COPY app /opt/trustfloor/app
# Fresh volumes take over what the image has at their places. Any user may own what is in them: the
# supervisor makes folders of its own there, closed to others.
RUN set -eu; \
    printf 'trustfloor:x:10002:\n' >> /etc/group; \
    printf 'trustfloor:x:10002:10002::/home/trustfloor:/bin/sh\n' >> /etc/passwd; \
    python3 -m compileall -q /opt/trustfloor/app/supervisor /opt/trustfloor/app/trustfloor; \
    printf '#!/bin/sh\nexec /usr/bin/python3 -m supervisor "$@"\n' > /usr/local/bin/trustfloor; \
    chmod 755 /usr/local/bin/trustfloor; \
    mkdir -p /home/trustfloor /var/lib/trustfloor /run/trustfloor /run/engine; \
    cp -r /opt/trustfloor/app/sample-vault /vault; \
    chmod -R a+rwX /vault; \
    chmod 1777 /home/trustfloor /var/lib/trustfloor /run/trustfloor; \
    chmod 755 /run/engine

ENV HOME=/home/trustfloor \
    LANG=C.UTF-8 \
    PYTHONPATH=/opt/trustfloor/app:/opt/trustfloor/site \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TRUSTFLOOR_SHOW_TOKEN=false \
    TRUSTFLOOR_VAULT=/vault \
    TRUSTFLOOR_DATA_DIR=/var/lib/trustfloor/data \
    TRUSTFLOOR_RUNTIME_DIR=/run/trustfloor/turns

WORKDIR /
USER 10002:10002
ENTRYPOINT ["/usr/local/bin/trustfloor"]
CMD ["--help"]
