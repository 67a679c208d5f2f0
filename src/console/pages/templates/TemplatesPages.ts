import { Layer } from "effect"
import * as AudiencePages from "./AudiencePages.tsx"
import * as DraftPages from "./DraftPages.tsx"
import * as PreviewPages from "./PreviewPages.tsx"
import * as SuggestionPages from "./SuggestionPages.tsx"
import * as TemplateCreatePages from "./TemplateCreatePages.tsx"
import * as TemplateFilePages from "./TemplateFilePages.tsx"
import * as TemplateHistoryPages from "./TemplateHistoryPages.tsx"
import * as TemplateListPages from "./TemplateListPages.tsx"
import * as TemplatePages from "./TemplatePages.tsx"
import * as TemplateSettingsPages from "./TemplateSettingsPages.tsx"
import * as TranslationPages from "./TranslationPages.tsx"
import * as VariantPages from "./VariantPages.tsx"
import * as VersionPages from "./VersionPages.tsx"

/** Templates and variants in the console. */
export const layer = Layer.mergeAll(
  TemplateListPages.layer,
  TemplateCreatePages.layer,
  TemplateFilePages.layer,
  TemplatePages.layer,
  AudiencePages.layer,
  SuggestionPages.layer,
  TemplateHistoryPages.layer,
  TemplateSettingsPages.layer,
  TranslationPages.layer,
  VariantPages.layer,
  DraftPages.layer,
  VersionPages.layer,
  PreviewPages.layer,
)
