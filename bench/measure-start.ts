// How long the gateway takes from the start of its process to its first answer, over several starts on a data
// directory that exists. It must never include the building of the executable or the making of the database.
import type { StartFigures } from './figures'
import { type GatewaySetup, type GatewayStart, startGateway } from './gateway'

/** Leaves the last gateway running. */
export async function measureStart(
  setup: GatewaySetup,
  starts: number,
): Promise<{ figures: StartFigures; last: GatewayStart }> {
  const figures: StartFigures = { healthMs: [], modelsMs: [] }
  let last = await startGateway(setup)
  for (let start = 0; start < starts; start++) {
    await last.child.stop()
    last = await startGateway(setup)
    figures.healthMs.push(last.healthMs)
    figures.modelsMs.push(last.modelsMs)
  }
  return { figures, last }
}
