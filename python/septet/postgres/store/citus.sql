-- What tells Citus (12 or newer) where the tables lie: run when the tables are made where the extension is there, printed
-- by `septet postgres init --citus` where it is not. All that belongs to one bucket lies in one place; small tables
-- without buckets are everywhere.
--
-- Each shard costs each statement of a search some time: 4 a worker, unless `citus.shard_count` was set.
SELECT create_reference_table('septet.meta');
SELECT create_reference_table('septet.vaults');
SELECT create_reference_table('septet.spaces');
SELECT create_reference_table('septet.claims');
SELECT create_reference_table('septet.jobs');
SELECT create_reference_table('septet.settings');
SELECT create_distributed_table('septet.entries', 'bucket', colocate_with => 'none', shard_count => (
    SELECT CASE WHEN s.source = 'default' THEN greatest(4 * (
        SELECT count(*)::integer FROM pg_dist_node n WHERE n.noderole = 'primary' AND n.shouldhaveshards
    ), 4) ELSE s.setting::integer END FROM pg_settings s WHERE s.name = 'citus.shard_count'
));
SELECT create_distributed_table('septet.buckets', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.postings', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.posting_blocks', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.term_counts', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.totals', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.count_changes', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.links', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.history', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.feedback', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.vectors', 'bucket', colocate_with => 'septet.entries');
