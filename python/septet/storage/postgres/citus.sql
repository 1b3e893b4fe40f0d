-- What tells Citus (12 or newer) where the tables lie: `septet postgres init --citus` runs these lines where the
-- extension is there, and prints them where it is not. All that belongs to one bucket lies in one place; small tables
-- without buckets are everywhere.
SELECT create_reference_table('septet.meta');
SELECT create_reference_table('septet.vaults');
SELECT create_reference_table('septet.spaces');
SELECT create_reference_table('septet.claims');
SELECT create_reference_table('septet.jobs');
SELECT create_reference_table('septet.settings');
SELECT create_distributed_table('septet.entries', 'bucket', colocate_with => 'none');
SELECT create_distributed_table('septet.buckets', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.postings', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.term_counts', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.totals', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.count_changes', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.links', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.history', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.feedback', 'bucket', colocate_with => 'septet.entries');
SELECT create_distributed_table('septet.vectors', 'bucket', colocate_with => 'septet.entries');
