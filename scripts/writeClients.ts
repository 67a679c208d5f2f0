// Writes what follows from the public operations: their OpenAPI document, the contract suite, the samples of the API
// reference, and the clients in Go and PHP: deno run -A --no-prompt scripts/writeClients.ts
import { writeFileSync } from "node:fs"
import "../src/runtime/leakGuard.ts"
import { readExamples } from "../src/api/openapi/Examples.ts"
import { describeApi } from "../src/api/operations/OperationsRoutes.ts"
import { goClient } from "./clients/Go.ts"
import { phpClient } from "./clients/Php.ts"
import { publicDocument } from "./clients/PublicDocument.ts"
import { samplesOf } from "./clients/Samples.ts"
import { casesOf } from "./clients/Suite.ts"

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Returns the text of each file by its path. */
export const clientFiles = (): Readonly<Record<string, string>> => {
  const found = publicDocument(describeApi())
  const cases = casesOf(found, readExamples())
  return {
    "clients/openapi.json": json(found.document),
    "clients/contract/operations.json": json(cases),
    "clients/go/operations.go": goClient(found),
    "clients/php/src/Client.php": phpClient(found),
    "src/api/openapi/samples.json": json(Object.fromEntries(cases.map((one) => [one.operation, samplesOf(one)]))),
  }
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(clientFiles())) writeFileSync(new URL(`../${path}`, import.meta.url), text)
}
