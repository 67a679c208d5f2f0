import type { ServiceProcess } from "../support/service.ts"

/** The attacker's view of a running service: an organization of its own, with a key of every data-plane scope. */
export interface Target {
  readonly service: ServiceProcess
  /**
   * Where clients of the attacker's own making connect: the proxy in front of the service, or the service without
   * HAProxy.
   */
  readonly front: string
  /** The attacker's organization. It has a template `welcome` and custom events set up. */
  readonly org: string
  /** A key with the scopes `generate`, `deliver` and `events`. */
  readonly key: string
  /** Sends a request with the attacker's key; returns the status, and 0 where the connection was cut. */
  readonly send: (
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<number>
  /** Waits until the service has processed all webhook bodies received so far. */
  readonly drained: () => Promise<void>
}

/** One way to hold up a service. */
export interface Attack {
  readonly name: string
  /** Size of the largest request. Unit: bytes. */
  readonly bytes: number
  /** Carries it out and returns the statuses answered. The suite fails on any of 500 or more but 503. */
  readonly run: (target: Target) => Promise<ReadonlyArray<number>>
}
