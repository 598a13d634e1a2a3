// The parts of a configuration and of its changes that are shown: offers and numbers, but nothing that could be a
// secret.

import { expect, test } from 'bun:test'
import { changesBetween, visibleConfig } from '../../src/config/changes'
import type { Config } from '../../src/config/schema'

const config = (keep: string, secret: string): Config => ({
  upstreams: { openai: { kind: 'openai', apiKey: secret } },
  models: {},
  artifacts: { keep, maxBytes: '10 GB' },
  retention: { charges: '12mo' },
})

test('numbers and durations are shown everywhere, and other texts only where no secret can be', () => {
  expect(visibleConfig(config('7d', 'sk-1'))).toEqual({
    upstreams: { openai: { kind: 'openai', apiKey: 'hidden' } },
    models: {},
    artifacts: { keep: '7d', maxBytes: '10 GB' },
    retention: { charges: '12mo' },
  })
  const baseUrl = 'https://user:password@vendor.example/v1?key=secret#part'
  expect(visibleConfig({ upstreams: { local: { kind: 'openai', baseUrl } }, models: {} })).toEqual({
    upstreams: { local: { kind: 'openai', baseUrl: 'https://vendor.example/v1' } },
    models: {},
  })
  for (const secret of ['7days', '1234567890d', 'd7', '7d7d', '7'])
    expect(JSON.stringify(visibleConfig(config('7d', secret)))).not.toContain(`"${secret}"`)
  expect(changesBetween(config('7d', 'sk-1'), config('2w', 'sk-2'))).toMatchObject([
    { setting: 'upstreams.openai.apiKey', before: null, after: null },
    { setting: 'artifacts.keep', before: '"7d"', after: '"2w"', needsRestart: true },
  ])
})
