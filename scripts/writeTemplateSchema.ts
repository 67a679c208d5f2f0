import { writeFileSync } from "node:fs"
import { templateFileSchema } from "../src/templates/TemplateFileSchema.ts"

// Writes the JSON Schema of template files: deno run --allow-write --allow-read --allow-env scripts/writeTemplateSchema.ts

writeFileSync("schema/template-file.schema.json", `${JSON.stringify(templateFileSchema(), null, 2)}\n`)
