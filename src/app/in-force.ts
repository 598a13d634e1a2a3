// The current configuration: built as a whole from one configuration, and replaced as a whole when it is reloaded. Code that reads
// a part of it reads it again for each request; a request keeps the configuration it began with.

import { buildCatalogue, type Catalogue } from '../catalogue/models'
import { type DiscoveredModels, withDiscovered } from '../config/models/discovered'
import { type Plan, plansOf } from '../config/models/plans'
import { type ResponseLimits, responseLimitsOf } from '../config/responses'
import type { Config } from '../config/schema'
import type { UpstreamWorld } from '../upstreams/connection'
import type { AddressRules, Lookup } from '../webhooks/address'

interface Running {
  /** The configuration as it is written. */
  config: Config
  /** The models that upstreams have listed, and the configuration with them, from which the catalogue is made. */
  lists: DiscoveredModels
  offered: Config
  catalogue: Catalogue
  /** Plans: groups of accounts with their own prices and limits. */
  plans: ReadonlyMap<string, Plan>
  /** How answers of responses are stored. */
  keptResponses: ResponseLimits
  /** The addresses that webhooks may use. */
  addressRules: AddressRules
}

interface RunningWorld extends UpstreamWorld {
  lookup: Lookup
}

/** The current configuration: its parts, which change together, and the only way to change them. */
export interface InForce extends Readonly<Omit<Running, 'lists'>> {
  /**
   * Builds everything from another configuration, which has no faults. Returns the function that applies it: the one place where
   * that happens.
   */
  prepare(config: Config): () => void
  /** Applies the models that upstreams have listed, instead of the previous ones. */
  discovered(lists: DiscoveredModels): void
}

/** Applies the first configuration. */
export function putInForce(config: Config, world: RunningWorld): InForce {
  let running = buildRunning(config, new Map(), world)
  return {
    get config() {
      return running.config
    },
    get offered() {
      return running.offered
    },
    get catalogue() {
      return running.catalogue
    },
    get plans() {
      return running.plans
    },
    get keptResponses() {
      return running.keptResponses
    },
    get addressRules() {
      return running.addressRules
    },
    prepare(next) {
      const before = running
      const built = buildRunning(next, before.lists, world, before)
      return () => {
        running = built
        leaveRunning(before, built)
      }
    },
    discovered(lists) {
      const before = running
      running = buildRunning(before.config, lists, world, before)
      leaveRunning(before, running)
    },
  }
}

/**
 * Builds the parts of a configuration. An upstream whose settings are those of `before` is the same object: its circuit breaker,
 * its resting keys and connections are kept.
 */
function buildRunning(
  config: Config,
  lists: DiscoveredModels,
  world: RunningWorld,
  before?: Running,
): Running {
  const offered = withDiscovered(config, lists)
  return {
    config,
    lists,
    offered,
    catalogue: buildCatalogue(offered, world, before),
    plans: plansOf(config.plans),
    keptResponses: responseLimitsOf(config.responses),
    addressRules: { allow: config.webhooks?.allow ?? [], lookup: world.lookup },
  }
}

/** Releases the upstreams that the next configuration does not have: each closes when its last request has ended. */
function leaveRunning(before: Running, next: Running): void {
  const kept = new Set(next.catalogue.upstreams.values())
  for (const upstream of before.catalogue.upstreams.values()) if (!kept.has(upstream)) upstream.close()
}
