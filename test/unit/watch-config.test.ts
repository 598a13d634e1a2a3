// A watched configuration is reloaded after each change, also after one during a reload.

import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { watchConfig } from '../../cli/process/watch-config'
import { temporaryFolder } from '../support/databases/databases'
import { waitFor } from '../support/gateway'

test('a change during a reload causes another reload, and without a change there is none', async () => {
  const file = join(temporaryFolder(), 'gateway.config.json')
  writeFileSync(file, '{}')
  const read: string[] = []
  const config = { server: { watchConfig: true } }
  watchConfig(file, {
    world: { config },
    async reload(cause) {
      read.push(`${cause}: ${await Bun.file(file).text()}`)
      if (read.length === 1) writeFileSync(file, '{"third":1}')
    },
  })
  writeFileSync(file, '{"second":1}')
  await waitFor(() => read.length === 2)
  await Bun.sleep(2_500)
  expect(read).toEqual(['watchConfig: {"second":1}', 'watchConfig: {"third":1}'])
  // The watch continues until the file is removed after the tests.
  config.server.watchConfig = false
})
