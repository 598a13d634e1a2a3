// The pages of holders, except the first and the playground, as one script: see operator-pages.ts.

export { default as statements } from '../selling/own-statements'
export { default as activity } from './activity'
export { default as connect } from './connect'
export { default as models } from './own-models'
