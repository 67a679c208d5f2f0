import { hash, randomUUID } from "node:crypto"

/** Sessions of one key above which its oldest session leaves the node. */
export const maxSessions = 50

/** Number of ended sessions that a node remembers. */
const maxEnded = 10_000

const digestOf = (keyId: string, begin: string): string => hash("sha256", `${keyId} ${begin}`, "hex").slice(0, 16)

/**
 * Returns the id of a new session of a key. The id has the revision of the protocol, so that every node can continue the
 * session: agents behind a load balancer reach another node with each request.
 */
export const newSession = (keyId: string, revision: string): string => {
  const begin = `${revision}.${randomUUID()}`
  return `${begin}.${digestOf(keyId, begin)}`
}

/** Returns the revision of a session of a key. Undefined for the id of another key, and for other texts. */
export const revisionOf = (keyId: string, session: string): string | undefined => {
  const found = /^(([0-9-]{10})\.[0-9a-f-]{36})\.([0-9a-f]{16})$/.exec(session)
  return found !== null && found[3] === digestOf(keyId, found[1]!) ? found[2] : undefined
}

/**
 * The sessions of agents on this node: the id of Effect's server by the id that the agent has, by the id of the key, oldest
 * first. Effect's server keeps a session until it is ended, so their number is limited here.
 */
export class AgentSessions {
  private readonly ofKeys = new Map<string, Map<string, string>>()
  private readonly ended = new Set<string>()

  /** Adds a session, and returns the id of the server's session that must end for it, if any. */
  add(keyId: string, session: string, inner: string): string | undefined {
    const sessions = this.ofKeys.get(keyId) ?? new Map<string, string>()
    // Another request of the session may have continued it on this node meanwhile.
    if (sessions.has(session)) return inner
    this.ofKeys.set(keyId, sessions.set(session, inner))
    if (sessions.size <= maxSessions) return undefined
    const [[oldest, leaving]] = sessions as unknown as [[string, string]]
    sessions.delete(oldest)
    return leaving
  }

  /** Returns the id of the server's session. Undefined for a session that this node does not have. */
  find(keyId: string, session: string): string | undefined {
    return this.ofKeys.get(keyId)?.get(session)
  }

  /** Whether the agent ended a session on this node. */
  hasEnded(session: string): boolean {
    return this.ended.has(session)
  }

  /** Ends a session. */
  end(keyId: string, session: string): void {
    const sessions = this.ofKeys.get(keyId)
    sessions?.delete(session)
    if (sessions?.size === 0) this.ofKeys.delete(keyId)
    this.ended.add(session)
    const [first] = this.ended
    if (this.ended.size > maxEnded) this.ended.delete(first!)
  }
}
