import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { suiteOnServer } from "../learning/support.ts"
import { managed, signedIn } from "./furnished.ts"

suiteOnServer("Stopped learning", (server) => {
  const stop = (org: string) =>
    server().run(Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql`
        INSERT INTO fold_attempts (org_slug, template_id, attempts, attempted_at, reason, stopped_at)
        VALUES (${org}, 'welcome', 3, now(), 'index row size 6552 exceeds maximum', now()),
          (${org}, 'deleted-since', 3, now(), 'x', now())
        ON CONFLICT (org_slug, template_id) DO UPDATE SET stopped_at = now(), reason = EXCLUDED.reason`))

  it("is shown on the overview, on the results page, in the API and in a metric, and can be resumed", async () => {
    const { service } = server()
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "halted", name: "Halted" })
    await manage("POST", "/organizations/halted/templates", { id: "welcome", name: "Welcome" })
    const metric = async () =>
      /^parlance_learning_stopped (\d+)$/m.exec(await (await service.request("/metrics")).text())?.[1]
    const editor = await signedIn(service, "halted-editor@example.com", ["halted", "editor"])
    const viewer = await signedIn(service, "halted-viewer@example.com", ["halted", "viewer"])
    const results = "/console/o/halted/templates/welcome/results"
    assert.notInclude((await viewer.get("/console/o/halted")).text, "stopped learning")
    assert.notInclude((await viewer.get(results)).text, "Learning has stopped")

    await stop("halted")
    const overview = (await viewer.get("/console/o/halted")).text
    assert.include(overview, "Welcome has stopped learning")
    assert.include(overview, "index row size 6552")
    const page = (await viewer.get(results)).text
    assert.include(page, "Learning has stopped")
    assert.include(page, "index row size 6552")
    assert.notInclude(page, "Resume learning", "a viewer resumes nothing")
    assert.include((await editor.get(results)).text, "Resume learning")
    const { stopped } = await manage("GET", "/organizations/halted/learning/stopped")
    assert.deepStrictEqual(
      stopped.map(({ reason, template_id }: Record<string, string>) => [template_id, reason]),
      [["welcome", "index row size 6552 exceeds maximum"]],
    )

    assert.strictEqual((await viewer.post(`${results}/resume-learning`, {})).status, 403)
    assert.strictEqual((await editor.post(`${results}/resume-learning`, {})).status, 303)
    assert.include((await editor.get(`${results}?done=learning-resumed`)).text, "Learning has been resumed")
    assert.notInclude((await viewer.get(results)).text, "Learning has stopped")
    assert.deepStrictEqual((await manage("GET", "/organizations/halted/learning/stopped")).stopped, [])
    const { entries } = await manage("GET", "/organizations/halted/audit")
    assert.deepInclude(
      entries.map(({ action, subject }: Record<string, string>) => [action, subject]),
      ["learning resumed", "welcome"],
    )

    await stop("halted")
    assert.strictEqual(await metric(), "1")
    await manage("POST", "/organizations/halted/templates/welcome/resume-learning")
    assert.deepStrictEqual((await manage("GET", "/organizations/halted/learning/stopped")).stopped, [])
    const none = await service.manage("POST", "/organizations/halted/templates/none/resume-learning")
    assert.strictEqual(none.status, 404)
  })
})
