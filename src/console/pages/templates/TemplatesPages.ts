import { Layer } from "effect"
import * as PreviewPages from "./PreviewPages.tsx"
import { RawRoutes } from "./RawRoutes.tsx"
import * as TemplateFilePages from "./TemplateFilePages.tsx"
import * as TemplateListPages from "./TemplateListPages.tsx"
import * as TemplatePages from "./TemplatePages.tsx"
import * as VariantPages from "./VariantPages.tsx"

/** Templates and variants in the console. */
export const layer = Layer.mergeAll(
  TemplateListPages.layer,
  TemplateFilePages.layer,
  TemplatePages.layer,
  VariantPages.layer,
  PreviewPages.layer,
).pipe(Layer.provide(RawRoutes.layer))
