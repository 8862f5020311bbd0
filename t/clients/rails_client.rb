# Run by t/clients/drivers.pl: a migration and rows by Active Record, and its two ways to dump the schema. PGHOST,
# PGPORT and PGDATABASE name the server; PGDATABASE_OF_SCHEMA_RB and PGDATABASE_OF_STRUCTURE_SQL name empty databases to
# load the dumps. The argument is a directory for the dumps.
require 'logger'
require 'stringio'
require 'active_record'

def say(name, *values)
  puts [name, *values].join("\t")
end

class CreateOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :bigint, default: -> { 'ids.next_id()' } do |t|
      t.text :customer
    end
  end
end

class Photo < ActiveRecord::Base
end

class Order < ActiveRecord::Base
  def as_json(*) = super.merge('id' => id.to_s)
end

def connect(database)
  ActiveRecord::Base.establish_connection(adapter: 'postgresql', database: database, min_messages: 'warning')
end

say 'version', ActiveRecord.version
connect(ENV['PGDATABASE'])
ActiveRecord::Migration.verbose = false
CreateOrders.migrate(:up)

order = Order.create!(customer: 'Ada')
say 'created', order.id
say 'type', order.id.class
say 'json', order.to_json
say 'several', *Order.insert_all([{ customer: 'Ada' }, { customer: 'Grace' }]).rows.flatten
say 'several_made', *Order.create!([{ customer: 'Ada' }, { customer: 'Grace' }]).map(&:id)
Order.create!(id: 4032112536055714817, customer: 'exact')
say 'exact', Order.find_by(customer: 'exact').id
say 'sharded', Photo.create!(user_id: 4007).id, *Photo.insert_all([{ user_id: 7 }, { user_id: 2007 }]).rows.flatten

# config.active_record.schema_format = :sql
structure = "#{ARGV[0]}/structure.sql"
configuration = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', adapter: 'postgresql',
                                                                     database: ENV['PGDATABASE'])
ActiveRecord::Tasks::DatabaseTasks.structure_dump(configuration, structure)
say 'structure', *File.read(structure).scan(/^CREATE (?:SCHEMA|EXTENSION IF NOT EXISTS) \S+/)

# config.active_record.schema_format = :ruby
schema = StringIO.new
pool = ActiveRecord::Base.respond_to?(:connection_pool) && ActiveRecord.version >= Gem::Version.new('7.2')
ActiveRecord::SchemaDumper.dump(pool ? ActiveRecord::Base.connection_pool : ActiveRecord::Base.connection, schema)
say 'schema', schema.string.match(/create_table "orders".*/)
say 'schema_extensions', *schema.string.scan(/^ *((?:create_schema|enable_extension) .*shardid.*|create_schema .*)/).flatten
connect(ENV['PGDATABASE_OF_SCHEMA_RB'])
begin
  ActiveRecord::Schema.verbose = false
  eval schema.string
rescue ActiveRecord::StatementInvalid => e
  say 'loaded', e.cause.class
end

connect(ENV['PGDATABASE_OF_STRUCTURE_SQL'])
other = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', adapter: 'postgresql',
                                                             database: ENV['PGDATABASE_OF_STRUCTURE_SQL'])
ActiveRecord::Tasks::DatabaseTasks.structure_load(other, structure)
connect(ENV['PGDATABASE_OF_STRUCTURE_SQL'])
Order.reset_column_information
say 'restored', Order.create!(customer: 'Ada').id
