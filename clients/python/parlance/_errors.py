from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._causes import Reason


@dataclass(frozen=True)
class Fault:
    pointer: str
    """A JSON pointer into the body, or the name of a query parameter."""
    detail: str


class ParlanceProblem(Exception):
    """The service refused a request. Contains the problem of the response (RFC 9457), documented at `/problems/<type>`."""

    def __init__(
        self, status: int, body: Mapping[str, Any], retry_after: float | None, request_id: str | None = None
    ) -> None:
        self.status = status
        self.type = str(body.get("type", "unknown")).rsplit("/problems/", 1)[-1]
        """The type of the problem without the path, such as `recipient-suppressed`."""
        self.title = str(body.get("title") or f"The service answered {status}")
        # A proxy may respond with JSON of another form.
        detail = body.get("detail")
        self.detail: str | None = detail if isinstance(detail, str) else None
        errors = body.get("errors")
        self.errors: Sequence[Fault] = [
            Fault(str(fault["pointer"]), str(fault["detail"]))
            for fault in (errors if isinstance(errors, list) else [])
            if isinstance(fault, Mapping) and "pointer" in fault and "detail" in fault
        ]
        """Every fault in the content of the request. Empty for other problems."""
        self.retry_after = retry_after
        """The time to wait before a retry, in seconds. None if the response has no `Retry-After`."""
        self.request_id = request_id
        """Id of the request in the logs of the service. None if the response does not come from the service."""
        self.members = {
            name: value
            for name, value in body.items()
            if name not in ("type", "title", "status", "detail", "errors")
        }
        """Additional members of this type of problem, such as `reason` of `recipient-suppressed`."""
        reasons = [self.detail] if self.detail else []
        reasons += [f"{fault.pointer} {fault.detail}" for fault in self.errors]
        named = "" if request_id is None else f" (request {request_id})"
        super().__init__(": ".join([self.title, *reasons]) + named)


class ParlanceUnavailable(Exception):
    """Every attempt failed without an answer of the service. `__cause__` is the failure of the last attempt."""

    def __init__(self, message: str, reason: Reason) -> None:
        self.reason = reason
        """Why no answer arrived: `timeout`, `refused`, `dns`, `tls`, `network` or `answer`."""
        super().__init__(message)


class ParlanceWebhookError(Exception):
    """Parlance did not sign a webhook request, or its body has no event. Respond with a status from 400 to 499."""

    def __init__(self, fault: Literal["headers", "timestamp", "secret", "signature", "body"], message: str) -> None:
        self.fault = fault
        super().__init__(message)


class ParlanceInvalidValue(Exception):
    """An argument has a value that has no form in JSON. The client sent no request."""

    def __init__(self, path: str, detail: str) -> None:
        self.path = path
        """The place of the value in the arguments, such as `fields.price` or `events[0].value`."""
        self.detail = detail
        super().__init__(f"{path} {detail}")
