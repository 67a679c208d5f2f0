import { Effect } from "effect"
import { afterAll, describe } from "vitest"
import { dockerode, hasDocker, hasImage, inContainer, Postgres } from "../support/containers.ts"
import { cluster } from "./contracts/cluster.ts"
import { delivery } from "./contracts/delivery.ts"
import { journal } from "./contracts/journal.ts"
import { learning } from "./contracts/learning.ts"
import { migrations } from "./contracts/migrations.ts"

const contracts = { migrations, journal, learning, delivery, cluster }

/** Starts PostgreSQL of a major version, and describes what runs: the exact version, and where its image is from. */
const start = async (major: number) => {
  const image = `postgres:${major}`
  const container = await new Postgres(image).withTmpFs({ "/var/lib/postgresql": "rw" })
    .withCommand(["postgres", "-c", "fsync=off"]).start()
  const { RepoDigests } = await (await dockerode()).getImage(image).inspect()
  const version = await inContainer(
    container.getId(),
    ["psql", "-h", "127.0.0.1", "-U", "postgres", "-Atc", "SHOW server_version"],
    { PGPASSWORD: container.getPassword() },
  )
  const origin = (RepoDigests ?? []).length > 0 ? image : `${image}, built on this machine`
  return { container, name: `PostgreSQL ${version} (${origin})`, url: container.getConnectionUri() }
}

/** The supported major versions whose images this machine has. */
const available: Array<number> = []
if (await hasDocker("the contracts on PostgreSQL 14 to 18")) {
  for (const major of [14, 15, 16, 17, 18]) {
    if (await hasImage(`postgres:${major}`)) available.push(major)
    else console.warn(`Skipped: the contracts on PostgreSQL ${major} (there is no image postgres:${major})`)
  }
}
const servers = await Promise.all(available.map(start))

for (const server of servers) {
  describe(server.name, () => {
    const environment = Effect.succeed({ DATABASE_URL: server.url, DATABASE_POOL_SIZE: "4" })
    for (const [name, contract] of Object.entries(contracts)) describe(name, () => contract(environment))
    afterAll(() => server.container.stop({ timeout: 0 }))
  })
}
