// Comparison of names to erase: identifiers exactly, e-mail addresses ignoring case.

/** One person to erase: a user by the caller's id, an e-mail address, or both. */
export interface PersonNames {
  readonly user: string | undefined
  readonly email: string | undefined
}

/** Whether a name is compared like an address. Callers may use addresses as user ids. */
const isAddress = (name: string): boolean => name.includes("@")

// V8 hashes texts such as "8192" by their numeric value, so that a caller could choose many with one hash. With this
// prefix, no text is numeric.
const keyed = (text: string) => `#${text}`

/** All names of the people to erase. */
export class Names {
  readonly #ids = new Set<string>()
  readonly #addresses = new Set<string>()
  readonly #spellings = new Set<string>()

  constructor(people: Iterable<PersonNames> = []) {
    for (const { email, user } of people) {
      this.add(user)
      this.add(email)
    }
  }

  /** Adds a name in one of its spellings. */
  add(name: string | null | undefined): void {
    if (name === null || name === undefined || name === "") return
    this.#spellings.add(name)
    if (isAddress(name)) {
      const address = name.toLowerCase()
      this.#addresses.add(keyed(address))
      this.#spellings.add(address)
    } else {
      this.#ids.add(keyed(name))
    }
  }

  /** Whether a stored text is one of the names. */
  has(text: string): boolean {
    return isAddress(text) ? this.hasAddress(text.toLowerCase()) : this.#ids.has(keyed(text))
  }

  /** Whether an address, in lowercase, is one of the names. */
  hasAddress(address: string): boolean {
    return this.#addresses.has(keyed(address))
  }

  /** Whether a text contains one of the names: an address anywhere, an id of four characters or more. */
  isIn(text: string): boolean {
    const lower = text.toLowerCase()
    return this.addresses().some((address) => lower.includes(address)) ||
      this.ids().some((id) => id.length >= 4 && text.includes(id))
  }

  /** Returns the names that are compared exactly. */
  ids(): ReadonlyArray<string> {
    return Array.from(this.#ids, (key) => key.slice(1))
  }

  /** Returns the addresses in lowercase. */
  addresses(): ReadonlyArray<string> {
    return Array.from(this.#addresses, (key) => key.slice(1))
  }

  /** Returns every known spelling of a name, for look-ups by an index. */
  spellings(): ReadonlyArray<string> {
    return [...this.#spellings]
  }
}
