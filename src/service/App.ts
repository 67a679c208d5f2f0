import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AuditChain } from "../accounts/AuditChain.ts"
import { Expired } from "../accounts/Expired.ts"
import * as AccountServices from "../accounts/AccountServices.ts"
import { ChangeHistory } from "../accounts/ChangeHistory.ts"
import { OrganizationChanges } from "../accounts/OrganizationChanges.ts"
import { AdminAuth } from "../auth/AdminAuth.ts"
import { SecretBox } from "../store/SecretBox.ts"
import { SecretKeys } from "../store/SecretKeys.ts"
import { sealedColumns } from "./sealedColumns.ts"
import { KeyAuth } from "../auth/KeyAuth.ts"
import { KeyLimits } from "../auth/KeyLimits.ts"
import { Keys } from "../auth/Keys.ts"
import * as BounceListener from "../intake/bounces/BounceListener.ts"
import { Checking } from "../checking/Checking.ts"
import * as Nodes from "../cluster/Nodes.ts"
import * as SingleProcess from "../cluster/SingleProcess.ts"
import * as ConsoleRoutes from "../console/ConsoleRoutes.ts"
import { layerReportWriter } from "../console/pages/results/ReportWords.ts"
import { Decider } from "../decide/Decider.ts"
import { Projections } from "../journal/Projection.ts"
import { DecisionLog } from "../journal/decisions/DecisionLog.ts"
import { Previews } from "../decide/Previews.ts"
import { Draws } from "../decide/Draws.ts"
import { ExposureCounts } from "../decide/ExposureCounts.ts"
import { RenderingCounts } from "../decide/RenderingCounts.ts"
import { RequestNotices } from "../decide/RequestNotices.ts"
import { Alerts } from "../alerts/Alerts.ts"
import { DisabledSources } from "../alerts/DisabledSources.ts"
import { SourceRhythms } from "../journal/inbox/SourceRhythms.ts"
import { StickyChoices } from "../decide/StickyChoices.ts"
import { AdviceLog } from "../sendtime/AdviceLog.ts"
import { Groups } from "../sendtime/Groups.ts"
import { historyProjection } from "../sendtime/HistoryProjection.ts"
import { People } from "../sendtime/People.ts"
import { SendTime } from "../sendtime/SendTime.ts"
import { Settling } from "../sendtime/Settling.ts"
import { AddressGuard } from "../settings/AddressGuard.ts"
import { AnswerValidity } from "../delivery/AnswerValidity.ts"
import { layerCancelSuppressed } from "../delivery/CancelSuppressed.ts"
import { layerStoredTargets } from "../delivery/StoredTargets.ts"
import { Composer } from "../delivery/Composer.ts"
import { Connections } from "../delivery/Connections.ts"
import { BulkActions } from "../delivery/BulkActions.ts"
import { Deliveries } from "../delivery/Deliveries.ts"
import { DeliveryQueue } from "../delivery/DeliveryQueue.ts"
import { DeliveryRates } from "../delivery/DeliveryRates.ts"
import * as Dispatcher from "../delivery/Dispatcher.ts"
import { DkimKeys } from "../delivery/dkim/DkimKeys.ts"
import { MailPreviews } from "../delivery/MailPreviews.ts"
import { Outbox } from "../delivery/Outbox.ts"
import { DnsRecords } from "../delivery/receivers/DnsRecords.ts"
import { TestMessages } from "../delivery/receivers/TestMessages.ts"
import { RecentRecipients } from "../journal/decisions/RecentRecipients.ts"
import { DecisionHistory } from "../journal/events/DecisionHistory.ts"
import { Inbox } from "../journal/inbox/Inbox.ts"
import { Intake } from "../intake/Intake.ts"
import { Erasures } from "../people/Erasures.ts"
import { EventHistory } from "../journal/events/EventHistory.ts"
import { Judging } from "../intake/Judging.ts"
import { KnownEvents } from "../journal/events/KnownEvents.ts"
import { UntimelyEvents } from "../journal/events/UntimelyEvents.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { NotificationMail } from "../mailing/NotificationMail.ts"
import { WeeklyReports } from "../mailing/WeeklyReports.ts"
import { NotificationTexts } from "../mailing/NotificationTexts.ts"
import { ServiceMail } from "../mailing/ServiceMail.ts"
import { Notifications } from "../accounts/notifications/Notifications.ts"
import { MappingTrials } from "../intake/mapping/MappingTrials.ts"
import { Rebuild } from "../projections/Rebuild.ts"
import { Timelines } from "../people/Timelines.ts"
import { OptOuts } from "../intake/OptOuts.ts"
import { SenderChecks } from "../intake/SenderChecks.ts"
import { PromptIntake } from "../intake/PromptIntake.ts"
import { WebhookQuota } from "../intake/WebhookQuota.ts"
import { WebhookSources } from "../intake/WebhookSources.ts"
import * as SecretKeysRoutes from "../api/secrets/SecretKeysRoutes.ts"
import * as TrackingKeysRoutes from "../api/tracking/TrackingKeysRoutes.ts"
import * as AccountsRoutes from "../api/accounts/AccountsRoutes.ts"
import { AdminRequired } from "../api/admission/AdminRequired.ts"
import { ServedApi } from "../api/Api.ts"
import { Drain } from "../api/http/Drain.ts"
import * as Envelope from "../api/http/Envelope.ts"
import { PublicCalls } from "../api/http/PublicCalls.ts"
import * as AgentRoutes from "../api/agents/AgentRoutes.ts"
import * as DelayRoutes from "../api/delay/DelayRoutes.ts"
import * as DeliverabilityRoutes from "../api/deliveries/DeliverabilityRoutes.ts"
import * as ImageRoutes from "../api/images/ImageRoutes.ts"
import * as SnippetRoutes from "../api/templates/SnippetRoutes.ts"
import * as SuggestionRoutes from "../api/templates/SuggestionRoutes.ts"
import * as SamplePeopleRoutes from "../api/templates/SamplePeopleRoutes.ts"
import * as TestGroupsRoutes from "../api/deliveries/TestGroupsRoutes.ts"
import * as DeliverRoutes from "../api/deliveries/DeliverRoutes.ts"
import * as DeliveriesRoutes from "../api/deliveries/DeliveriesRoutes.ts"
import * as BulkActionsRoutes from "../api/deliveries/BulkActionsRoutes.ts"
import * as DeliveryRoutes from "../api/deliveries/DeliveryRoutes.ts"
import * as ApiReference from "../api/openapi/ApiReference.ts"
import * as DocumentsRoutes from "../api/documents/DocumentsRoutes.ts"
import * as WellKnownRoutes from "../api/documents/WellKnownRoutes.ts"
import * as GenerateRoutes from "../api/generate/GenerateRoutes.ts"
import * as LearningRoutes from "../api/learning/LearningRoutes.ts"
import { LoadGate } from "../api/admission/LoadGate.ts"
import * as NotificationsRoutes from "../api/notifications/NotificationsRoutes.ts"
import * as OperationsRoutes from "../api/operations/OperationsRoutes.ts"
import * as OrganizationRoutes from "../api/organizations/OrganizationRoutes.ts"
import { Refusals } from "../api/admission/Refusals.ts"
import * as EndpointsRoutes from "../api/endpoints/EndpointsRoutes.ts"
import * as BucketRoutes from "../api/exports/BucketRoutes.ts"
import * as ExportsRoutes from "../api/exports/ExportsRoutes.ts"
import * as ResultsRoutes from "../api/results/ResultsRoutes.ts"
import * as SandboxRoutes from "../api/sandbox/SandboxRoutes.ts"
import * as GroupRolesRoutes from "../api/accounts/GroupRolesRoutes.ts"
import * as PasskeysRoutes from "../api/accounts/PasskeysRoutes.ts"
import * as SecondFactorRoutes from "../api/accounts/SecondFactorRoutes.ts"
import * as SuppressionsRoutes from "../api/suppressions/SuppressionsRoutes.ts"
import * as TimelinesRoutes from "../api/timelines/TimelinesRoutes.ts"
import * as CopyRoutes from "../api/templates/CopyRoutes.ts"
import * as DraftRoutes from "../api/templates/DraftRoutes.ts"
import * as ViewsRoutes from "../api/views/ViewsRoutes.ts"
import * as CommentsRoutes from "../api/comments/CommentsRoutes.ts"
import * as ReviewsRoutes from "../api/reviews/ReviewsRoutes.ts"
import * as TemplateIndexRoutes from "../api/templates/TemplateIndexRoutes.ts"
import * as TemplateRoutes from "../api/templates/TemplateRoutes.ts"
import * as TrackingRoutes from "../api/tracking/TrackingRoutes.ts"
import * as VariantRoutes from "../api/templates/VariantRoutes.ts"
import * as WebhookRoutes from "../api/webhooks/WebhookRoutes.ts"
import * as WebhooksManagementRoutes from "../api/webhooks/WebhooksManagementRoutes.ts"
import * as Learner from "../learning/Learner.ts"
import { AttributeStatistics } from "../learning/AttributeStatistics.ts"
import { EngineWorker } from "../learning/EngineWorker.ts"
import { FitBudget } from "../learning/FitBudget.ts"
import { Inflow } from "../journal/Inflow.ts"
import { Learning } from "../learning/Learning.ts"
import { Models } from "../learning/Models.ts"
import { Priors } from "../learning/Priors.ts"
import { Policies } from "../learning/Policies.ts"
import * as Sweep from "../learning/Sweep.ts"
import { TemplateActors } from "../learning/TemplateActors.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { SinkMessages } from "../delivery/sandbox/SinkMessages.ts"
import { Retention } from "../journal/retention/Retention.ts"
import { WebhookEndpoints } from "../webhooks/WebhookEndpoints.ts"
import * as OutgoingWebhooks from "../delivery/OutgoingWebhooks.ts"
import { BucketRuns } from "../buckets/BucketRuns.ts"
import { Buckets } from "../buckets/Buckets.ts"
import { Exports } from "../exports/Exports.ts"
import * as WebhookBatches from "../exports/WebhookBatches.ts"
import { KeptResults } from "../results/KeptResults.ts"
import { ResultShares } from "../results/ResultShares.ts"
import { SegmentExplorer } from "../results/SegmentExplorer.ts"
import { Results } from "../results/Results.ts"
import { ResultsWorker } from "../results/ResultsWorker.ts"
import { SendTimes } from "../results/SendTimes.ts"
import { Series } from "../results/Series.ts"
import { Traffic } from "../results/Traffic.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { TemplateImports } from "../templates/TemplateImports.ts"
import { Settings } from "../settings/Settings.ts"
import { Changes } from "../organizations/Changes.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { SuppressionImports } from "../suppressions/SuppressionImports.ts"
import { Suppressions } from "../suppressions/Suppressions.ts"
import { Suggestions } from "../suggestions/Suggestions.ts"
import { SuggestionSetups } from "../suggestions/SuggestionSetups.ts"
import * as ReadReplica from "../store/ReadReplica.ts"
import * as ServerWatch from "../store/ServerWatch.ts"
import * as OperatorRefusals from "./OperatorRefusals.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import * as LoopWatch from "../telemetry/LoopWatch.ts"
import { Reactions } from "../tracking/Reactions.ts"
import { Images } from "../tracking/Images.ts"
import { Targets } from "../tracking/Targets.ts"
import { Tracking } from "../tracking/Tracking.ts"
import { Drafts } from "../templates/Drafts.ts"
import { SavedViews } from "../team/SavedViews.ts"
import { TestGroups } from "../delivery/receivers/TestGroups.ts"
import { Snippets } from "../templates/Snippets.ts"
import { SamplePeople } from "../templates/SamplePeople.ts"
import { VariantVersions } from "../templates/VariantVersions.ts"
import { Comments } from "../team/Comments.ts"
import { Proposals } from "../templates/Proposals.ts"
import { TemplateIndex } from "../templates/TemplateIndex.ts"
import { Templates } from "../templates/Templates.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"

/** Cluster of actors: this process alone, or all nodes on one database. */
type LayerActors = Layer.Layer<
  Layer.Success<typeof SingleProcess.layer>,
  Layer.Error<typeof Nodes.layer>,
  Layer.Services<typeof Nodes.layer>
>

/** Models and the actors that learn them. */
const layerLearning = (layerActors: LayerActors) =>
  Policies.layer.pipe(
    Layer.provideMerge(Learning.layer),
    Layer.provide(TemplateActors.layer),
    Layer.provideMerge(Learner.layer),
    Layer.provideMerge(layerActors),
    Layer.provideMerge(
      Layer.mergeAll(
        Models.layer,
        AttributeStatistics.layer,
        EngineWorker.layer,
        FitBudget.layer,
        Inflow.layer,
        Priors.layer,
      ),
    ),
  )

/** Addresses that connections may use. */
const layerGuard = Layer.unwrap(Effect.map(Settings, ({ outboundAllow }) => AddressGuard.layer(outboundAllow)))

/** Delivery: the queue and its connections. */
const layerDelivery = Layer.mergeAll(BulkActions.layer, Deliveries.layer, DeliveryRates.layer, Outbox.layer).pipe(
  Layer.provideMerge(DeliveryQueue.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Images.layer.pipe(Layer.provideMerge(Tracking.layer)),
      Targets.layer.pipe(Layer.provide(layerStoredTargets)),
    ),
  ),
  Layer.provideMerge(DkimKeys.layer),
  Layer.provideMerge(DnsRecords.layer),
  Layer.provideMerge(
    MailPreviews.layer.pipe(
      Layer.provideMerge(Connections.layer),
      Layer.provide(Composer.layer),
      Layer.provideMerge(SinkMessages.layer),
    ),
  ),
  Layer.provideMerge(layerGuard),
)

/** The disabled sources, for alerts. */
const layerDisabledSources = Layer.effect(
  DisabledSources,
  Effect.map(WebhookSources, ({ isDisabled }) => isDisabled),
)

/** Results, as pages show them. */
const layerResults = KeptResults.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Results.layer, Series.layer).pipe(Layer.provide([Templates.layer, ResultsWorker.layer])),
  ),
)

/** Projections derived from the journal in the transactions that write it. */
const layerProjections = Layer.succeed(Projections, [historyProjection])

/** The suppression list. */
const layerSuppressions = SuppressionImports.layer.pipe(
  Layer.provideMerge(Suppressions.layer),
  Layer.provideMerge(Layer.mergeAll(AddressKeys.layer, layerCancelSuppressed, AnswerValidity.layer)),
)

/** Recommended send times. */
const layerSendTimes = Layer.mergeAll(SendTime.layer, Settling.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Groups.layer, AdviceLog.layer)),
)

/** Variants that a model suggests. */
const layerSuggestions = Suggestions.layer.pipe(
  Layer.provideMerge(SuggestionSetups.layer),
  Layer.provide([
    Previews.layer.pipe(Layer.provide(Snippets.layer)),
    Results.layer.pipe(Layer.provide([Templates.layer, ResultsWorker.layer])),
    Templates.layer,
    Organizations.layer,
    SamplePeople.layer,
    layerGuard,
  ]),
)

/** All services except HTTP. Requires a migrated store. */
const servicesOver = (layerActors: LayerActors) =>
  Layer.mergeAll(
    TestGroups.layer,
    SavedViews.layer,
    TestMessages.layer.pipe(
      Layer.provideMerge(layerDelivery),
      Layer.provideMerge(Previews.layer),
      Layer.provide(Snippets.layer),
    ),
    OptOuts.layer,
    Rebuild.layer,
    DecisionHistory.layer,
    EventHistory.layer,
    Timelines.layer,
    TemplateImports.layer.pipe(Layer.provide(Snippets.layer)),
    Templates.layer,
    TemplateIndex.layer,
    Layer.mergeAll(
      Drafts.layer.pipe(Layer.provide(Templates.layer)),
      VariantVersions.layer,
      SamplePeople.layer,
      Snippets.layer,
      RecentRecipients.layer,
      layerSuggestions,
    ),
    Proposals.layer,
    Layer.mergeAll(Comments.layer, ResultShares.layer, SegmentExplorer.layer).pipe(Layer.provide(Templates.layer)),
    Layer.mergeAll(
      Traffic.layer,
      Layer.mergeAll(
        WebhookBatches.layerBatchBodies,
        BucketRuns.layer.pipe(Layer.provideMerge(Buckets.layer), Layer.provide([layerGuard, Organizations.layer])),
      ).pipe(Layer.provideMerge(Exports.layer)),
      WebhookEndpoints.layer.pipe(Layer.provide(layerGuard)),
      MappingTrials.layer,
    ),
    OperatorRefusals.layer,
    Alerts.layer.pipe(Layer.provide([SourceRhythms.layer, layerDelivery, layerDisabledSources])),
    Layer.mergeAll(ChangeHistory.layer, ServiceMail.layer),
    Layer.mergeAll(NotificationMail.layer, WeeklyReports.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(Notifications.layer, NotificationTexts.layer, layerResults)),
      Layer.provide([Organizations.layer, TemplateIndex.layer, Templates.layer, layerGuard, layerReportWriter]),
    ),
    SendTimes.layer.pipe(Layer.provide(Layer.mergeAll(Templates.layer, Organizations.layer))),
    Keys.layer,
    LoadGate.layer,
    SenderChecks.layer.pipe(Layer.provide(layerGuard)),
    PublicCalls.layer,
    OrganizationChanges.layer.pipe(Layer.provideMerge(Organizations.layer)),
    Drain.layer,
    Retention.layer,
  ).pipe(
    Layer.provideMerge(Reactions.layer),
    Layer.provideMerge(PromptIntake.layer.pipe(Layer.provideMerge(Intake.layer))),
    Layer.provideMerge(Decider.layer),
    Layer.provideMerge(Judging.layer),
    Layer.provideMerge(layerSendTimes),
    Layer.provideMerge(
      Layer.mergeAll(
        StickyChoices.layer,
        Draws.layer,
        ExposureCounts.layer,
        RenderingCounts.layer,
        RequestNotices.layer,
        DecisionLog.layer,
        Inbox.layer,
        KnownEvents.layer,
        UntimelyEvents.layer,
        WebhookQuota.layer,
        WebhookSources.layer,
        layerLearning(layerActors),
      ),
    ),
    Layer.provideMerge(Layer.mergeAll(Erasures.layer, layerProjections)),
    Layer.provideMerge(layerSuppressions),
    Layer.provideMerge(
      Layer.mergeAll(
        Profiles.layer,
        People.layer,
        TemplateCache.layer,
        KeyAuth.layer.pipe(Layer.provide(KeyLimits.layer)),
        AdminAuth.layer,
        Refusals.layer,
        SourceCheck.layer.pipe(Layer.provideMerge(Checking.layer)),
      ),
    ),
    Layer.provideMerge(AccountServices.layer),
    Layer.provideMerge(MailQueue.layer),
    Layer.provideMerge(SecretKeys.layer(sealedColumns)),
    Layer.provideMerge(SecretBox.layer),
    Layer.provideMerge(Changes.layer),
    Layer.provideMerge(StoreFromSettings.layerMigrated),
  )

/** Actors in a single process, such as a command. */
export const layerServices = servicesOver(SingleProcess.layer)

/** Actors shared with all other processes that serve on the database. */
export const layerNodeServices = servicesOver(Nodes.layer)

/** Background work of a serving process; commands that use the database directly omit it. */
export const layerJobs = Layer.mergeAll(
  LoopWatch.layer,
  Intake.layerRunning,
  Sweep.layer,
  ServerWatch.layer,
  ReadReplica.layerFirstRead,
  AuditChain.layerRunning,
  Expired.layerRunning,
  Dispatcher.layer,
  DeliveryRates.layerRunning,
  BulkActions.layerRunning,
  Settling.layerRunning,
  Retention.layerRunning,
  Erasures.layerRunning,
  SinkMessages.layerRunning,
  OutgoingWebhooks.layerRunning,
  WebhookBatches.layerRunning,
  BucketRuns.layerRunning,
  Alerts.layerRunning,
  Notifications.layerRunning,
  ServiceMail.layerRunning,
  NotificationMail.layerRunning,
  WeeklyReports.layerRunning,
  BounceListener.layer,
)

/** Every route, on top of the services. */
export const layerRoutes = HttpApiBuilder.layer(ServedApi).pipe(
  Layer.provide([
    OrganizationRoutes.organizationsLayer,
    OrganizationRoutes.keysLayer,
    TemplateRoutes.layer,
    VariantRoutes.layer,
    TemplateIndexRoutes.layer,
    CopyRoutes.layer,
    DraftRoutes.layer,
    ReviewsRoutes.layer,
    CommentsRoutes.layer,
    ResultsRoutes.layer,
    EndpointsRoutes.layer,
    ExportsRoutes.layer,
    BucketRoutes.layer,
    LearningRoutes.layer,
    WebhooksManagementRoutes.layer,
    TimelinesRoutes.layer,
    DeliveryRoutes.layer,
    DeliverabilityRoutes.layer,
    SamplePeopleRoutes.layer,
    SnippetRoutes.layer,
    ImageRoutes.layer,
    SuggestionRoutes.layer,
    TestGroupsRoutes.layer,
    BulkActionsRoutes.layer,
    SuppressionsRoutes.layer,
    SandboxRoutes.layer,
    AccountsRoutes.layer,
    SecretKeysRoutes.layer,
    TrackingKeysRoutes.layer,
    SecondFactorRoutes.layer,
    PasskeysRoutes.layer,
    GroupRolesRoutes.layer,
    NotificationsRoutes.layer,
    ViewsRoutes.layer,
    OperationsRoutes.layer,
  ]),
  Layer.provide(AdminRequired.layer),
  Layer.merge(GenerateRoutes.layer),
  Layer.merge(DelayRoutes.layer),
  Layer.merge(DeliverRoutes.layer),
  Layer.merge(DeliveriesRoutes.layer),
  Layer.merge(WebhookRoutes.layer),
  Layer.merge(TrackingRoutes.layer),
  Layer.merge(ImageRoutes.layerFiles),
  Layer.merge(DocumentsRoutes.layer),
  Layer.merge(WellKnownRoutes.layer),
  Layer.merge(AgentRoutes.layer),
  Layer.merge(ApiReference.layer),
  Layer.merge(ConsoleRoutes.layer),
  Layer.merge(Envelope.layer),
)
