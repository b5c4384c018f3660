"""Traces from producer through queue to stage, for OpenTelemetry, where the setting `traces` is on and the extra `otel` is there.

The context travels with the job as a W3C `traceparent`, in the ledger and in each message of it: a job that is sent again belongs
to the trace that asked for it. https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, Protocol

from pixlane.errors import InvalidArgument
from pixlane.settings import Settings

TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

Kind = Literal["INTERNAL", "PRODUCER", "CONSUMER"]


class Tracer(Protocol):
    """Makes spans."""

    def span(self, name: str, kind: Kind = "INTERNAL", *, parent: str | None = None, **attributes: str | int | float) -> Any:
        """A context manager around a piece of work; it gives an object with `set(**attributes)`. `parent`: a traceparent."""

    def past(self, name: str, began_ns: int, ended_ns: int) -> None:
        """A span of what has happened already, in ns since 1970, under the current one."""

    def here(self) -> str | None:
        """The traceparent of the current span."""


class _NoSpan:
    def set(self, **attributes: str | int | float) -> None: ...


class NoTracer:
    """For whoever does not trace."""

    @contextmanager
    def span(self, name: str, kind: Kind = "INTERNAL", *, parent: str | None = None, **attributes: Any) -> Iterator[_NoSpan]:
        yield _NoSpan()

    def past(self, name: str, began_ns: int, ended_ns: int) -> None: ...

    def here(self) -> str | None:
        return None


def of(settings: Settings) -> Tracer:
    """The tracer for these settings; the provider is the program's own. Raises InvalidArgument where the extra is missing."""
    if not settings.traces:
        return NoTracer()
    try:
        import opentelemetry.trace as api
    except ImportError:
        raise InvalidArgument("PIXLANE_TRACES needs the extra otel: pip install 'pixlane[otel]'") from None
    return _OtelTracer(api)


def provide(service: str) -> Any:
    """Sends the spans of this process by OTLP over HTTP, as the variables OTEL_* say; for a process that is ours. The provider.

    Raises InvalidArgument where the extra is missing.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidArgument("PIXLANE_TRACES needs the extra otel: pip install 'pixlane[otel]'") from None
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


class _OtelTracer:
    def __init__(self, api: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._api = api
        self._wire = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, kind: Kind = "INTERNAL", *, parent: str | None = None, **attributes: Any) -> Iterator[_Span]:
        context = self._wire.extract({"traceparent": parent}) if parent and TRACEPARENT.fullmatch(parent) else None
        tracer = self._api.get_tracer("pixlane")
        with tracer.start_as_current_span(
            name, context=context, kind=getattr(self._api.SpanKind, kind), attributes=_named(attributes)
        ) as span:
            yield _Span(span)

    def past(self, name: str, began_ns: int, ended_ns: int) -> None:
        self._api.get_tracer("pixlane").start_span(name, start_time=began_ns).end(ended_ns)

    def here(self) -> str | None:
        carrier: dict[str, str] = {}
        self._wire.inject(carrier)
        return carrier.get("traceparent")


class _Span:
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: str | int | float) -> None:
        self._span.set_attributes(_named(attributes))


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    return {f"pixlane.{name}": value for name, value in attributes.items()}
