// The hosts of DashScope: the shared ones by region, and the host of a workspace, as
// https://www.alibabacloud.com/help/model-studio/base-url lists them (2026-10-11).

import { expect, test } from 'bun:test'
import { baseUrlOf } from '../../src/upstreams/connection'
import { dashscope } from '../../src/upstreams/kinds/dashscope'
import type { UpstreamConfig } from '../../src/upstreams/settings'

test.each([
  [{}, 'https://dashscope-intl.aliyuncs.com'],
  [{ region: 'ap-southeast-1' }, 'https://dashscope-intl.aliyuncs.com'],
  [{ region: 'cn-beijing' }, 'https://dashscope.aliyuncs.com'],
  [{ region: 'us-east-1' }, 'https://dashscope-us.aliyuncs.com'],
  [{ region: 'cn-hongkong' }, 'https://cn-hongkong.dashscope.aliyuncs.com'],
  [{ project: 'llm-abc1' }, 'https://llm-abc1.ap-southeast-1.maas.aliyuncs.com'],
  [{ project: 'llm-abc1', region: 'ap-northeast-1' }, 'https://llm-abc1.ap-northeast-1.maas.aliyuncs.com'],
  [{ project: 'llm-abc1', baseUrl: 'http://127.0.0.1:9/x' }, 'http://127.0.0.1:9/x'],
] as const)('%j is %s', (settings, address) => {
  const entry: UpstreamConfig = { kind: 'dashscope', ...settings }
  expect(baseUrlOf(dashscope, entry)).toBe(address)
})
