import { readdirSync, readFileSync } from "node:fs"
import { parse, parseAllDocuments } from "yaml"
import { renderTemplates } from "../support/helmTemplate.ts"
import { previousNames, previousText } from "../support/previousRelease.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of a manifest it also asserts
export type Manifest = any

const root = new URL("../../", import.meta.url)

export const textOf = (path: string): string => readFileSync(new URL(path, root), "utf8")
const parseStrictly = (text: string): Manifest => parse(text, { strict: true, uniqueKeys: true })

export const yamlOf = (path: string): Manifest => parseStrictly(textOf(path))

/** Objects for a cluster, by their kinds. `Secret` is the name of the secret that they need. */
export interface Rendered {
  readonly objects: ReadonlyMap<string, Manifest>
  readonly secret: string
}

const byKind = (objects: ReadonlyArray<Manifest>): ReadonlyMap<string, Manifest> => {
  const found = new Map(objects.map((object) => [object.kind as string, object]))
  if (found.size !== objects.length) throw new Error("Two objects are of one kind")
  return found
}

const kubernetes = "deploy/kubernetes"

/** The output of `kubectl kustomize`, without the digest in the name of the ConfigMap, and the examples. */
export const kustomization = (): Rendered => {
  const { configMapGenerator, images, labels, resources } = yamlOf(`${kubernetes}/kustomization.yaml`)
  const files: ReadonlyArray<string> = [...resources, "ingress.example.yaml", "autoscaler.example.yaml"]
  const objects = files.map((file) => yamlOf(`${kubernetes}/${file}`))
  for (const { metadata, spec } of objects) {
    metadata.labels = { ...metadata.labels, ...labels[0].pairs }
    for (const container of spec.template?.spec.containers ?? []) {
      const image = images.find(({ name }: Manifest) => name === container.image)
      container.image = `${image.newName}:${image.newTag}`
    }
  }
  const lines = textOf(`${kubernetes}/${configMapGenerator[0].envs[0]}`).split("\n")
  const settings = lines.filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
  const metadata = { name: configMapGenerator[0].name }
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: Object.fromEntries(settings) }
  return { objects: byKind([...objects, configMap]), secret: yamlOf(`${kubernetes}/secret.example.yaml`).metadata.name }
}

const chartFolder = "deploy/helm/parlance"

/** A chart, by its files below `deploy/helm/parlance`. */
export interface ChartFiles {
  /** The names of the templates. */
  readonly templates: ReadonlyArray<string>
  readonly text: (path: string) => string
}

const currentChart: ChartFiles = {
  templates: readdirSync(new URL(`${chartFolder}/templates`, root)),
  text: (path) => textOf(`${chartFolder}/${path}`),
}

/** The chart of the latest release. */
export const previousChart = (): ChartFiles => ({
  templates: previousNames(`${chartFolder}/templates`),
  text: (path) => previousText(`${chartFolder}/${path}`),
})

/** Values over the defaults, as Helm merges them: objects member by member, everything else as a whole. */
const merge = (defaults: Manifest, values: Manifest): Manifest =>
  isRecord(defaults) && isRecord(values)
    ? Object.fromEntries(
      [...new Set([...Object.keys(defaults), ...Object.keys(values)])].map((name) => [
        name,
        name in values ? merge(defaults[name], values[name]) : defaults[name],
      ]),
    )
    : values

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === "object" && !Array.isArray(value)

export const chartValues = (values: Manifest = {}, source = currentChart): Manifest =>
  merge(parseStrictly(source.text("values.yaml")), values)

/** The files that the templates of the chart make, by their names. */
export const chartFiles = (
  values: Manifest = {},
  release = "parlance",
  source = currentChart,
): ReadonlyMap<string, string> => {
  const { appVersion, name, version } = parseStrictly(source.text("Chart.yaml"))
  return renderTemplates(new Map(source.templates.map((file) => [file, source.text(`templates/${file}`)])), {
    Values: chartValues(values, source),
    Release: { Name: release, Namespace: "words", Service: "Helm" },
    Chart: { Name: name, Version: version, AppVersion: appVersion },
  })
}

const objectsIn = (text: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(text, { strict: true, uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!
    return document.toJS()
  }).filter((object) => object !== null)

/** The objects of the chart, made by the renderer of the tests (`test/support/helmTemplate.ts`). */
export const chart = (values: Manifest = {}, release = "parlance", source = currentChart): Rendered => {
  // The second Service is read by its own test.
  const files = [...chartFiles(values, release, source)].filter(([file]) =>
    file.endsWith(".yaml") && file !== "bounces.yaml"
  )
  return {
    objects: byKind(files.flatMap(([, text]) => objectsIn(text))),
    secret: chartValues(values, source).existingSecret,
  }
}
