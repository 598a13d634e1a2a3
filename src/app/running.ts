// What the configuration says, in force: built whole from one configuration, and replaced as a whole when it is reloaded.
// Whatever reads a part of it takes it anew for each request; a request keeps what it began with.

import { buildCatalogue, type Catalogue } from '../catalogue/models'
import { type ResponseLimits, responseLimitsOf } from '../config/responses'
import type { Config } from '../config/schema'
import type { UpstreamWorld } from '../upstreams/connection'
import type { AddressRules, Lookup } from '../webhooks/address'

export interface Running {
  config: Config
  catalogue: Catalogue
  /** How answers of responses are kept. */
  keptResponses: ResponseLimits
  /** The addresses that webhooks may go to. */
  addressRules: AddressRules
}

interface RunningWorld extends UpstreamWorld {
  lookup: Lookup
}

/**
 * Builds what a configuration without faults says. An upstream whose settings are those of `before` is the same object:
 * its breaker, its keys in turn and its connections go on.
 */
export function buildRunning(config: Config, world: RunningWorld, before?: Running): Running {
  return {
    config,
    catalogue: buildCatalogue(config, world, before),
    keptResponses: responseLimitsOf(config.responses),
    addressRules: { allow: config.webhooks?.allow ?? [], lookup: world.lookup },
  }
}

/** Lets go of the upstreams that the next configuration does not have: each closes when its last request has ended. */
export function leaveRunning(before: Running, next: Running): void {
  const kept = new Set(next.catalogue.upstreams.values())
  for (const upstream of before.catalogue.upstreams.values()) if (!kept.has(upstream)) upstream.close()
}
