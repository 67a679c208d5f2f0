import { assert, describe, it } from "vitest"
import { textOf, yamlOf } from "./manifests.ts"

const unit = new Map(
  textOf("deploy/systemd/parlance.service").split("\n").flatMap((line) => {
    const [, name, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name, value!] as const]
  }),
)
const guide = textOf("docs/operations/supervisors.md")

describe("the unit of systemd", () => {
  it("runs a task of the project with the release of Deno that the README names", () => {
    const [, task] = /^\/usr\/bin\/env deno task (\S+)$/.exec(unit.get("ExecStart")!)!
    assert.property(yamlOf("deno.json").tasks, task!)
    const [, release] = /npx -y (deno@\S+) task start/.exec(textOf("README.md"))!
    assert.include(textOf("deploy/systemd/parlance.service"), `npm install --global ${release}`)
    assert.include(guide, `npm install --global ${release}`)
  })

  it("sends its signal to the service alone, which then has time to end", () => {
    assert.strictEqual(unit.get("KillMode"), "mixed")
    const [, timeout] = /^\| `SHUTDOWN_TIMEOUT` \| (\d+) seconds/m.exec(textOf("README.md"))!
    assert.isAbove(Number(unit.get("TimeoutStopSec")), 2 * Number(timeout))
  })

  it("keeps the data in the folder that it makes for the service", () => {
    assert.include(unit.get("Environment")!.split(" "), `DATA_DIR=/var/lib/${unit.get("StateDirectory")}`)
    assert.strictEqual(unit.get("StateDirectoryMode"), "0700")
  })
})
