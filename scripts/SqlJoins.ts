// Finds which tables of a statement are connected by equality of one column. Follows aliases, subqueries and CTEs. An
// equality counts wherever it is, so one in a branch of OR counts too.

/** Tables and column to look for. */
export interface Query {
  readonly distributed: ReadonlySet<string>
  readonly column: string
}

/** A table in a statement. Uses with equal `group` are connected. */
export interface TableUse {
  readonly table: string
  readonly group: string
}

type Item = string | ReadonlyArray<Item>
type Items = ReadonlyArray<Item>

/** A value: a column of a relation, or an interpolated value. Unknown values are undefined. */
type Value = string | undefined

interface Output {
  readonly name: string | undefined
  readonly value: Value
}

interface Relation {
  readonly id: string
  readonly outputs: ReadonlyArray<Output>
  /** Relations whose columns `*` passes on. */
  readonly stars: ReadonlyArray<Relation>
  readonly isTable: boolean
}

interface Scope {
  readonly relations: Map<string, Relation>
  readonly queries: Map<string, Relation>
  readonly parent: Scope | undefined
}

const token = /--[^\n]*|'(?:''|[^'])*'|"[^"]*"|[A-Za-z_]\w*|\d[\d.]*|::|[<>!=]+|[^\s\w]/g

const nest = (sql: string): Items => {
  const stack: Array<Array<Item>> = [[]]
  for (const [text] of sql.matchAll(token)) {
    if (text.startsWith("--")) continue
    if (text === "(") stack.push([])
    else if (text === ")" && stack.length > 1) {
      const group = stack.pop()!
      stack.at(-1)!.push(group)
    } else stack.at(-1)!.push(text)
  }
  while (stack.length > 1) {
    const group = stack.pop()!
    stack.at(-1)!.push(group)
  }
  return stack[0]!
}

const isGroup = (item: Item | undefined): item is Items => typeof item === "object"
const isName = (item: Item | undefined): item is string => typeof item === "string" && /^[a-z_]\w*$/.test(item)
const isValue = (item: Item | undefined): item is string => typeof item === "string" && item.startsWith('"$')
const isQuery = (item: Item | undefined): item is Items =>
  isGroup(item) && ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"].includes(item[0] as string)

const splitBy = (items: Items, isSeparator: (item: Item) => boolean): ReadonlyArray<Items> => {
  const parts: Array<Array<Item>> = [[]]
  for (const item of items) {
    if (isSeparator(item)) parts.push([])
    else parts.at(-1)!.push(item)
  }
  return parts
}
const byComma = (items: Items) => splitBy(items, (item) => item === ",")

const endsFrom = /^(?:WHERE|SET|GROUP|ORDER|LIMIT|RETURNING|VALUES|HAVING|WINDOW|FOR|SELECT|CONFLICT|DO)$/
const endsList = /^(?:FROM|WHERE|GROUP|ORDER|LIMIT|HAVING|WINDOW|FOR|RETURNING)$/

/** Returns the tables of a statement that are in `distributed`, each with the group of tables that it is connected to. */
export const queryTables = (sql: string, query: Query): ReadonlyArray<TableUse> => {
  const reader = new Reader(query)
  reader.readQuery(nest(sql), undefined)
  return reader.uses.map(({ relation, table }) => ({ table, group: reader.groupOf(`${relation.id}.${query.column}`) }))
}

class Reader {
  readonly uses: Array<{ readonly table: string; readonly relation: Relation }> = []
  private readonly parents = new Map<string, string>()
  private count = 0

  constructor(private readonly query: Query) {}

  groupOf(value: string): string {
    const parent = this.parents.get(value)
    return parent === undefined ? value : this.groupOf(parent)
  }

  private connect(one: Value, other: Value): void {
    if (one === undefined || other === undefined) return
    const [a, b] = [this.groupOf(one), this.groupOf(other)]
    if (a !== b) this.parents.set(a, b)
  }

  private relation(outputs: ReadonlyArray<Output>, stars: ReadonlyArray<Relation>, isTable = false): Relation {
    return { id: `#${this.count++}`, outputs, stars, isTable }
  }

  /** Reads a query with its CTEs and unions. Returns its columns as a relation. */
  readQuery(items: Items, parent: Scope | undefined): Relation {
    const scope: Scope = { relations: new Map(), queries: new Map(), parent }
    const parts = splitBy(
      this.readWith(items, scope),
      (item) => item === "UNION" || item === "EXCEPT" || item === "INTERSECT" || item === ";",
    )
    const results = parts.map((part) =>
      this.readPart(part, { relations: new Map(), queries: scope.queries, parent: scope.parent })
    )
    for (const result of results.slice(1)) {
      result.outputs.forEach((output, i) => this.connect(output.value, results[0]!.outputs[i]?.value))
    }
    return results[0]!
  }

  private readWith(items: Items, scope: Scope): Items {
    if (items[0] !== "WITH") return items
    let i = items[1] === "RECURSIVE" ? 2 : 1
    for (;;) {
      // CTEs of another file.
      while (isValue(items[i]) && items[i + 1] === ",") i += 2
      const name = items[i]
      if (!isName(name)) break
      const body = items.findIndex((item, at) => at > i && isQuery(item))
      if (body < 0) return items.slice(i + 1)
      const columns = items[i + 1]
      scope.queries.set(name, this.relation([], []))
      scope.queries.set(name, this.renamed(this.readQuery(items[body] as Items, scope), columns))
      i = body + 1
      if (items[i] !== ",") break
      i++
    }
    return items.slice(i)
  }

  private renamed(relation: Relation, columns: Item | undefined): Relation {
    if (!isGroup(columns)) return relation
    const names = byComma(columns).map(([name]) => name as string)
    return this.relation(names.map((name, i) => ({ name, value: relation.outputs[i]?.value })), relation.stars)
  }

  private readPart(items: Items, scope: Scope): Relation {
    const inserted = this.readRelations(items, scope)
    this.readConditions(items, scope)
    const lists = ["SELECT", "RETURNING"].map((word) => {
      const at = items.indexOf(word)
      if (at < 0) return undefined
      const end = items.findIndex((item, i) => i > at && typeof item === "string" && endsList.test(item))
      return this.readList(items.slice(at + 1, end < 0 ? undefined : end), scope)
    })
    if (inserted !== undefined && lists[0] !== undefined) {
      inserted.columns.forEach((column, i) =>
        this.connect(this.columnOf(inserted.relation, column), lists[0]!.outputs[i]?.value)
      )
    }
    return lists[1] ?? lists[0] ?? this.relation([], [])
  }

  private readList(items: Items, scope: Scope): Relation {
    const stars: Array<Relation> = []
    let list = items.filter((item) => item !== "ALL" && item !== "DISTINCT")
    if (list[0] === "ON") list = list.slice(2)
    const outputs = byComma(list).map((entry): Output => {
      const last = entry.at(-1)
      if (last === "*") {
        const named = entry.length === 3 ? this.find(entry[0] as string, scope) : undefined
        stars.push(...(entry.length === 1 ? scope.relations.values() : named === undefined ? [] : [named]))
        return { name: undefined, value: undefined }
      }
      const as = entry.lastIndexOf("AS")
      return { name: isName(last) ? last : undefined, value: this.valueOf(as < 0 ? entry : entry.slice(0, as), scope) }
    })
    return this.relation(outputs, stars)
  }

  /** Adds the relations of a query to its scope. Returns the table and the columns of an INSERT. */
  private readRelations(items: Items, scope: Scope) {
    let inserted: { readonly relation: Relation; readonly columns: ReadonlyArray<string> } | undefined
    let isFrom = false
    let isNext = false
    for (let i = 0; i < items.length; i++) {
      const item = items[i]!
      if (isNext && item !== "ONLY" && item !== "LATERAL") {
        isNext = false
        const { columns, end, relation } = this.readRelation(items, i, scope)
        if (items[i - 1] === "INTO" && isGroup(columns)) {
          inserted = { relation, columns: byComma(columns).map(([name]) => name as string) }
        }
        if (items[end] === "USING") this.readUsing(items[end + 1], relation, scope)
        i = end - 1
      } else if (typeof item !== "string") continue
      else if (item === "FROM" ? items[i - 1] !== "DISTINCT" : item === "USING" || (item === "UPDATE" && i === 0)) {
        isNext = isFrom = !isGroup(items[i + 1]) || item === "FROM"
      } else if (item === "JOIN" || item === "INTO" || (item === "," && isFrom)) isNext = true
      else if (endsFrom.test(item)) isFrom = false
    }
    return inserted
  }

  private readUsing(columns: Item | undefined, relation: Relation, scope: Scope): void {
    if (!isGroup(columns)) return
    const others = [...scope.relations.values()].filter((other) => other !== relation)
    for (const [column] of byComma(columns)) {
      for (const other of others) {
        this.connect(this.columnOf(relation, column as string), this.columnOf(other, column as string))
      }
    }
  }

  private readRelation(items: Items, at: number, scope: Scope) {
    const source = items[at]!
    let end = at + 1
    let relation: Relation
    if (isQuery(source)) relation = this.readQuery(source, scope)
    else if (isName(source) && !isGroup(items[end]) || items[at - 1] === "INTO") {
      relation = this.readTable(source as string, scope)
    } else {
      relation = this.relation([], [])
      if (isGroup(items[end])) end++
    }
    if (items[end] === "AS") end++
    const alias = isName(items[end]) ? items[end++] as string : isName(source) ? source : `${relation.id}`
    const columns = isGroup(items[end]) ? items[end++] : undefined
    if (columns !== undefined && items[at - 1] !== "INTO") relation = this.renamed(relation, columns)
    scope.relations.set(alias, relation)
    return { relation, columns, end }
  }

  private readTable(name: string, scope: Scope): Relation {
    for (let one: Scope | undefined = scope; one !== undefined; one = one.parent) {
      const query = one.queries.get(name)
      if (query !== undefined) return query
    }
    const isDistributed = this.query.distributed.has(name)
    const relation = this.relation([], [], isDistributed)
    if (isDistributed) this.uses.push({ table: name, relation })
    return relation
  }

  /** Connects the two sides of each `=` and `IN`, and reads the subqueries of expressions. */
  private readConditions(items: Items, scope: Scope): void {
    items.forEach((item, i) => {
      if (item === "=") this.connect(this.valueBefore(items, i, scope), this.valueAfter(items, i + 1, scope))
      if (!isGroup(item)) return
      const before = items[i - 1]
      if (isQuery(item)) {
        // Relations in FROM are read with their alias.
        if (["FROM", "JOIN", "LATERAL"].includes(before as string) || (before === "," && isInFrom(items, i))) return
        const result = this.readQuery(item, scope)
        const isMember = (before === "IN" && items[i - 2] !== "NOT") || (before === "ANY" && items[i - 2] === "=")
        if (isMember) {
          this.connectRow(
            items,
            i - (before === "IN" ? 1 : 2),
            result.outputs.map(({ value }) => value),
            scope,
          )
        }
        return
      }
      if (before === "=" && isGroup(items[i - 2])) {
        this.connectRow(items, i - 1, byComma(item).map((part) => this.valueOf(part, scope)), scope)
      }
      this.readConditions(item, scope)
    })
  }

  private connectRow(items: Items, at: number, values: ReadonlyArray<Value>, scope: Scope): void {
    const row = items[at - 1]
    if (isGroup(row)) byComma(row).forEach((part, i) => this.connect(this.valueOf(part, scope), values[i]))
    else this.connect(this.valueBefore(items, at, scope), values[0])
  }

  private valueBefore(items: Items, end: number, scope: Scope): Value {
    let at = end - 1
    while (items[at] === "]" || items[at] === "[" || items[at - 1] === "::") at -= items[at - 1] === "::" ? 2 : 1
    return this.valueOf(items.slice(items[at - 1] === "." ? at - 2 : at, at + 1), scope)
  }

  private valueAfter(items: Items, at: number, scope: Scope): Value {
    if (isGroup(items[at])) return undefined
    return this.valueOf(
      items.slice(at, items[at + 1] === "." ? at + 3 : isGroup(items[at + 1]) ? at + 2 : at + 1),
      scope,
    )
  }

  private valueOf(items: Items, scope: Scope): Value {
    const cast = items.indexOf("::")
    const [first, dot, column] = cast < 0 ? items : items.slice(0, cast)
    const size = cast < 0 ? items.length : cast
    if (size === 1 && isValue(first)) return first
    if (size === 3 && dot === "." && isName(first) && isName(column)) {
      const relation = this.find(first, scope)
      return relation === undefined ? `${first}.${column}` : this.columnOf(relation, column)
    }
    if (size !== 1 || !isName(first)) return undefined
    const relations = [...scope.relations.values()]
    const known = relations.filter((relation) =>
      relation.isTable || relation.outputs.some(({ name }) => name === first)
    )
    const owner = known.length > 0 ? known[0] : relations[0]
    return owner === undefined ? undefined : this.columnOf(owner, first)
  }

  private find(alias: string, scope: Scope): Relation | undefined {
    return scope.relations.get(alias) ?? (scope.parent === undefined ? undefined : this.find(alias, scope.parent))
  }

  private columnOf(relation: Relation, column: string): string {
    const output = relation.outputs.find(({ name }) => name === column)
    if (output?.value !== undefined) return output.value
    const star = relation.stars.find((one) => one.isTable || one.stars.length > 0 || one.outputs.length > 0)
    return star === undefined ? `${relation.id}.${column}` : this.columnOf(star, column)
  }
}

/** Whether the group after a comma is a relation of FROM. */
const isInFrom = (items: Items, at: number): boolean => {
  for (let i = at - 1; i >= 0; i--) {
    const item = items[i]
    if (item === "FROM") return true
    if (typeof item === "string" && endsFrom.test(item)) return false
  }
  return false
}
