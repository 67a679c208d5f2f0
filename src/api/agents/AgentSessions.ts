/** Sessions of one key above which its oldest session ends. */
export const maxSessions = 50

/**
 * The sessions of agents by the id of their key, oldest first. A session belongs to the key that began it. Effect's
 * server keeps a session until it is ended, so their number is limited here.
 */
export class AgentSessions {
  private readonly ofKeys = new Map<string, Set<string>>()

  /** Adds a session, and returns the session of the key that must end for it, if any. */
  add(keyId: string, session: string): string | undefined {
    const sessions = this.ofKeys.get(keyId) ?? new Set()
    this.ofKeys.set(keyId, sessions.add(session))
    if (sessions.size <= maxSessions) return undefined
    const [oldest] = sessions
    sessions.delete(oldest!)
    return oldest
  }

  /** Whether a session belongs to a key. */
  has(keyId: string, session: string): boolean {
    return this.ofKeys.get(keyId)?.has(session) ?? false
  }

  remove(keyId: string, session: string): void {
    const sessions = this.ofKeys.get(keyId)
    sessions?.delete(session)
    if (sessions?.size === 0) this.ofKeys.delete(keyId)
  }
}
