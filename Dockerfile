# docker build -t scapy-tfo . && docker run --rm --cap-add NET_RAW scapy-tfo test HOST:PORT
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl
WORKDIR /work
ENTRYPOINT ["scapy-tfo"]
CMD ["--help"]
