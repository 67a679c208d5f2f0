import process from "node:process"
import { pause } from "../deliverStorm.ts"
import { awayMillis, type Fault, pausedMillis, type StormDatabase, type StormNode } from "./stormDatabase.ts"

/**
 * Kills and pauses nodes, and cuts nodes off from the database: one, all, or all while one is killed. Adds the faults
 * of a database.
 */
export const makeFaults = (
  nodes: ReadonlyArray<StormNode>,
  killed: Set<string>,
  starts: Map<StormNode, number>,
  { faults: ofDatabase }: StormDatabase,
) => {
  const processOf = (node: StormNode) => `${node.name}.${starts.get(node) ?? 0}`
  const kill = async (node: StormNode) => {
    killed.add(processOf(node))
    const victim = node.service!
    node.service = undefined
    victim.kill("SIGKILL")
    await victim.ended
  }
  const start = async (node: StormNode) => {
    starts.set(node, (starts.get(node) ?? 0) + 1)
    await node.start()
  }
  const restart = async (node: StormNode, meanwhile?: () => void) => {
    meanwhile?.()
    await kill(node)
    await start(node)
  }
  const cutOff = async (some: ReadonlyArray<StormNode>, meanwhile: () => Promise<void>) => {
    for (const { toDatabase } of some) toDatabase!.block()
    await pause(awayMillis)
    await meanwhile()
    for (const { toDatabase } of some) toDatabase!.unblock()
  }
  const ofNetwork: ReadonlyArray<Fault> = [
    ["node is cut off", (victim) => cutOff([victim], () => Promise.resolve())],
    ["all nodes are cut off", (_) => cutOff(nodes, () => Promise.resolve())],
    ["node is killed while all are cut off", async (victim) => {
      await cutOff(nodes, () => kill(victim))
      await start(victim)
    }],
  ]
  const pauseNode: Fault = ["node is paused", async ({ service }) => {
    process.kill(service!.pid, "SIGSTOP")
    await pause(pausedMillis)
    process.kill(service!.pid, "SIGCONT")
  }]
  const faults: ReadonlyArray<Fault> = [
    ["node is killed", (victim) => restart(victim)],
    ...(nodes.every(({ toDatabase }) => toDatabase !== undefined) ? ofNetwork : []),
    ...ofDatabase({ restart, pauseNode }),
  ]
  return { processOf, faults }
}
