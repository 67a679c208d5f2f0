import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AdminAuth } from "./auth/AdminAuth.ts"
import { KeyAuth } from "./auth/KeyAuth.ts"
import { Keys } from "./auth/Keys.ts"
import { Policies } from "./bandit/Policies.ts"
import { Decider } from "./decisions/Decider.ts"
import { DecisionLog } from "./decisions/DecisionLog.ts"
import { Previews } from "./decisions/Previews.ts"
import { StickyChoices } from "./decisions/StickyChoices.ts"
import { AdminRequired } from "./http/AdminRequired.ts"
import { ServedApi } from "./http/Api.ts"
import * as Envelope from "./http/Envelope.ts"
import * as GenerateRoutes from "./http/GenerateRoutes.ts"
import * as OperationsRoutes from "./http/OperationsRoutes.ts"
import * as OrganizationRoutes from "./http/OrganizationRoutes.ts"
import * as TemplateRoutes from "./http/TemplateRoutes.ts"
import * as VariantRoutes from "./http/VariantRoutes.ts"
import { Organizations } from "./organizations/Organizations.ts"
import { SourceCheck } from "./rendering/SourceCheck.ts"
import { Changes } from "./store/Changes.ts"
import * as StoreFromSettings from "./store/StoreFromSettings.ts"
import { Templates } from "./templates/Templates.ts"
import { Views } from "./templates/Views.ts"

/** Everything but HTTP, over a migrated store. */
export const layerServices = Layer.mergeAll(
  Decider.layer,
  Previews.layer,
  Templates.layer,
  Keys.layer,
  Organizations.layer,
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Policies.layer,
      StickyChoices.layer,
      DecisionLog.layer,
      Views.layer,
      KeyAuth.layer,
      AdminAuth.layer,
      SourceCheck.layer,
    ),
  ),
  Layer.provideMerge(Changes.layer),
  Layer.provideMerge(StoreFromSettings.layerMigrated),
)

/** Every route, on top of the services. */
export const layerRoutes = HttpApiBuilder.layer(ServedApi).pipe(
  Layer.provide([
    OrganizationRoutes.organizationsLayer,
    OrganizationRoutes.keysLayer,
    TemplateRoutes.layer,
    VariantRoutes.layer,
    OperationsRoutes.layer,
  ]),
  Layer.provide(AdminRequired.layer),
  Layer.merge(GenerateRoutes.layer),
  Layer.merge(Envelope.layer),
)
