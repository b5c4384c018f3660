# The worker. Two stages: wheels are built and installed in the first, the second holds nothing but the result.
FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /opt/pixlane
COPY constraints.txt ./
COPY pyproject.toml README.md LICENSE ./
COPY pixlane pixlane
COPY tasks tasks
COPY worker worker
# EXTRAS: as [otel] or [flower,otel]; with [ocr] workers read the text of pictures themselves (docs/vision.md).
ARG EXTRAS=""
RUN /opt/pixlane/bin/pip install --no-cache-dir ".${EXTRAS}" -c constraints.txt

FROM python:3.12-slim
# libcairo2 is CairoSVG's; without a font the text of an SVG is blank. Noto has the letters of nearly all scripts but Chinese,
# Japanese and Korean, Liberation the widths of Arial, Times and Courier, which most SVG name. For CJK add fonts-noto-cjk (90 MB).
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcairo2 fonts-dejavu-core fonts-liberation fonts-noto-core \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /tmp --shell /usr/sbin/nologin pixlane
COPY --from=build /opt/pixlane /opt/pixlane
# PYTHONSAFEPATH: a tasks.py in the working folder is never imported in place of ours.
ENV PATH=/opt/pixlane/bin:$PATH PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /tmp
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["pixlane", "health", "--here"]
ENTRYPOINT ["pixlane"]
CMD ["worker"]
