import { sinkEnvironment } from "../process/deliverSink.ts"
import { makeOrganization, type ServiceProcess, waitUntil } from "../support/service.ts"
import type { Target } from "./Attack.ts"

/**
 * Settings of the service under attack: it may send to this machine, store secrets, and sees the addresses that attacks
 * claim.
 */
export const connectionSettings = { ...sinkEnvironment, TRUSTED_PROXIES: "127.0.0.1/32" }

const org = "attacker"

const send = (service: ServiceProcess, key: string): Target["send"] => async (method, path, body, headers = {}) => {
  try {
    const response = await service.request(path, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: body as BodyInit }),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

/** An organization with a key and a template, in the hands of an attacker. */
export const makeTarget = async (service: ServiceProcess, front: string): Promise<Target> => {
  const key = await makeOrganization(service, org, ["generate", "deliver", "events"])
  const made = await service.manage("POST", `/organizations/${org}/templates`, {
    id: "welcome",
    name: "Welcome",
    variants: ["a", "b"].map((id) => ({ id, vars: { subject: `Hi {{ name }} ${id}`, body: "{{ a | join: ',' }}" } })),
  })
  if (made.status !== 201 && made.status !== 200) throw new Error(`No template: ${JSON.stringify(made)}`)
  const target: Target = {
    service,
    front,
    org,
    key,
    send: send(service, key),
    drained: () =>
      waitUntil("every body of the inbox is processed", async () => {
        const { body, status } = await service.manage("GET", `/organizations/${org}/webhooks`)
        // 503 while the gate is full.
        return status === 200 && body.webhooks.every(({ pending }: { pending: number }) => pending === 0)
      }, 120),
  }
  await startWorkers(target)
  return target
}

/**
 * Uses every worker process once as honest callers do: the memory that a process takes by itself is no growth by an
 * attack.
 */
const startWorkers = async ({ drained, send, service }: Target): Promise<void> => {
  const events = (count: number) =>
    JSON.stringify(
      Array.from({ length: count }, (_, i) => ({ event: "open", event_id: `w${i}`, user_id: `user ${i}` })),
    )
  await send("POST", `/api/webhook/events/${org}`, events(1))
  // A body this large is read on its own.
  await send("POST", `/api/webhook/events/${org}`, events(10_000))
  await service.manage("POST", `/organizations/${org}/templates/welcome/preview`, {
    copy_id: "a",
    fields: { name: "Ann" },
  })
  await drained()
}
