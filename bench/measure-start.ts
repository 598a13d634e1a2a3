// The time from the start of the gateway's process to its first answer, over several starts on an existing data directory. It must
// never include the building of the executable or the making of the database.
import { join } from 'node:path'
import type { StartFigures } from './figures'
import { type GatewaySetup, manyModels, setUpGateway, startGateway } from './gateway'

/** Models of the larger of two catalogues. */
export const MANY_MODELS = 1_000

/** Starts the gateway with few models and with many, in turns. */
export async function measureStart(
  few: GatewaySetup,
  mockPort: number,
  starts: number,
): Promise<StartFigures> {
  const directory = join(few.directory, 'many-models')
  const many = setUpGateway(few.command, directory, mockPort, { models: manyModels(MANY_MODELS) })
  const figures: StartFigures = { healthMs: [], modelsMs: [], manyHealthMs: [] }
  // The first start of each is not measured: it reads the executable and its database for the first time.
  for (let start = -1; start < starts; start++) {
    const { child, healthMs, modelsMs } = await startGateway(few)
    await child.stop()
    const large = await startGateway(many)
    await large.child.stop()
    if (start < 0) continue
    figures.healthMs.push(healthMs)
    figures.modelsMs.push(modelsMs)
    figures.manyHealthMs.push(large.healthMs)
  }
  return figures
}
