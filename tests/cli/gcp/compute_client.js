// Google's own library for Node against a simulated Compute Engine: node compute_client.js HOST PORT PROJECT TOKEN IMAGE
// Prints what came back, as JSON.
const compute = require('@google-cloud/compute');
const {OAuth2Client} = require('google-auth-library');

const [host, port, project, token, image] = process.argv.slice(2);
const [region, zone] = ['us-central1', 'us-central1-a'];
const authClient = new OAuth2Client();
authClient.setCredentials({access_token: token, expiry_date: Date.now() + 3600e3});
const options = {projectId: project, authClient, apiEndpoint: host, port: Number(port), protocol: 'http', fallback: true};
const client = (name) => new compute[`${name}Client`](options);
const told = {};

const waiters = {zone: client('ZoneOperations'), region: client('RegionOperations'), global: client('GlobalOperations')};

async function done(call, kind = 'zone') {
  const [answer] = await call;
  const operation = answer.latestResponse || answer;
  const place = kind === 'zone' ? {zone} : kind === 'region' ? {region} : {};
  const [end] = await waiters[kind].wait({project, operation: operation.name, ...place});
  if (end.status !== 'DONE' || (end.error && end.error.errors.length)) throw new Error(JSON.stringify(end));
  return end;
}

async function all(pages) {
  const names = [];
  for await (const one of pages) {
    const list = Array.isArray(one) ? (one[1].instances || one[1].disks || []) : [one];
    names.push(...list.map((item) => item.name));
  }
  return names;
}

function properties(bulk) {
  const type = 'e2-standard-4';
  return {
    machineType: bulk ? type : `zones/${zone}/machineTypes/${type}`,
    disks: [{boot: true, autoDelete: true, initializeParams: {sourceImage: image, diskSizeGb: '50'}}],
    networkInterfaces: [{subnetwork: `projects/${project}/regions/${region}/subnetworks/default`}],
    labels: {owner: 'node'},
  };
}

async function facts() {
  const [own] = await client('Projects').get({project});
  const [there] = await client('Regions').get({project, region});
  told.project = own.name;
  told.quotas = there.quotas.map((quota) => quota.metric).filter((metric) => metric === 'SSD_TOTAL_GB');
  told.image = (await client('Images').getFromFamily({project: 'ubuntu-os-cloud', family: 'ubuntu-2404-lts-amd64'}))[0].family;
  told.type = (await client('MachineTypes').get({project, zone, machineType: 'a2-highgpu-1g'}))[0].guestCpus;
  told.gpus = await all(client('AcceleratorTypes').listAsync({project, zone, filter: 'name = "nvidia-l4"'}));
}

async function network() {
  const firewalls = client('Firewalls');
  await done(firewalls.insert({project, firewallResource: {
    name: 'rule', network: 'global/networks/default', sourceRanges: ['10.0.0.0/8'], allowed: [{IPProtocol: 'tcp', ports: ['22']}]}}), 'global');
  await done(firewalls.patch({project, firewall: 'rule', firewallResource: {priority: 900}}), 'global');
  told.rule = (await firewalls.get({project, firewall: 'rule'}))[0].priority;
  told.rules = (await all(firewalls.listAsync({project}))).includes('rule');
  const policies = client('ResourcePolicies');
  await done(policies.insert({project, region, resourcePolicyResource: {name: 'together', groupPlacementPolicy: {collocation: 'COLLOCATED'}}}), 'region');
  told.policies = await all(policies.listAsync({project, region}));
  const reservations = client('Reservations');
  await done(reservations.insert({project, zone, reservationResource: {
    name: 'kept', specificReservationRequired: true,
    specificReservation: {count: '1', instanceProperties: {machineType: 'n2-standard-8'}}}}));
  told.reservations = await all(reservations.listAsync({project, zone}));
}

async function instances() {
  const api = client('Instances');
  const one = {project, zone, instance: 'one'};
  const get = async () => (await api.get(one))[0];
  await done(api.insert({project, zone, instanceResource: {name: 'one', ...properties(false)}}));
  await done(api.setLabels({...one, instancesSetLabelsRequestResource: {
    labels: {owner: 'client'}, labelFingerprint: (await get()).labelFingerprint}}));
  told.labels = (await get()).labels;
  const bulk = await done(api.bulkInsert({project, zone, bulkInsertInstanceResourceResource: {
    count: '2', minCount: '1', perInstanceProperties: {two: {name: 'two'}, three: {name: 'three'}}, instanceProperties: properties(true)}}));
  told.group = Boolean(bulk.operationGroupId);
  const filter = `operationGroupId = "${bulk.operationGroupId}"`;
  told.children = (await all(waiters.zone.listAsync({project, zone, filter, orderBy: 'creationTimestamp desc'}))).length;
  told.serial = typeof (await api.getSerialPortOutput({...one, port: 1, start: '-3'}))[0].contents;
  told.listed = (await all(api.aggregatedListAsync({project, filter: 'labels.owner="node"'}))).sort();
  told.disks = (await all(client('Disks').aggregatedListAsync({project}))).sort();
  told.states = [];
  for (const call of ['stop', 'start', 'suspend', 'resume']) {
    await done(api[call](one));
    told.states.push((await get()).status);
  }
  await done(api.setDeletionProtection({project, zone, resource: 'one', deletionProtection: true}));
  told.protected = await api.delete(one).then(() => 'deleted', (error) => error.code);
  await done(api.setDeletionProtection({project, zone, resource: 'one', deletionProtection: false}));
  await done(api.delete(one));
  told.gone = await get().then(() => 'there', (error) => [error.code, error.message]);
}

facts().then(network).then(instances).then(() => console.log(JSON.stringify(told)),
  (error) => { console.error(error); process.exit(1); });
